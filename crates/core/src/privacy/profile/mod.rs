//! What a release pays, as a whole curve: [`Profile`].
//!
//! One number says little of a privacy loss, and different accountants need different ones. The law of the loss of a
//! change ([`Losses`]) has them all: `δ(epsilon)`, the trade-off between the two errors of a test, rho, mu, and what
//! several releases pay together. For integer noise under equations it is computed ([`parts`], [`tree`]); elsewhere it
//! is bounded by what is known: a pure loss by randomised response, rho by what follows from it at every delta, normal
//! noise by the curve of two normal laws.

mod entry;
mod finite;
mod grid;
mod lattice;
mod losses;
mod margins;
mod noise;
mod parts;
mod tied;
mod translated;
mod tree;

#[cfg(test)]
mod tests;

pub use losses::Losses;
pub use noise::IntegerNoise;

use self::losses::between;
use self::parts::Part;
use self::tree::Walk;
use super::accountant::Accountant;
use super::{ChangeKind, normal_curve, within, worst};
use crate::error::Result;
use crate::invariant::{Bounded, Component, Hierarchy, Linear, Region};
use crate::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw};
use crate::rng::{normal_cdf, normal_quantile};

/// What is known of the losses of one change.
#[derive(Debug, Clone, PartialEq)]
enum Curve {
    /// Their law.
    Losses(Losses),
    /// They are those of N(mu, 1) against N(0, 1), or less.
    Normal(f64),
    /// The release is rho-zCDP.
    Concentrated(f64),
}

/// What a release pays for a kind of change: the worst of all such changes, at every epsilon, delta, and test.
///
/// Two tables that differ by one change are told apart as badly one way as the other: for all laws here the noise and
/// its negative are alike.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::privacy::{ChangeKind, IntegerNoise, Profile};
///
/// // Ten counts with a known total and noise with epsilon 0.5 each: a record that moves.
/// let total = Hierarchy::from_parents(&[0; 11])?.with_known((0..11).map(|v| v == 0).collect())?;
/// let noise = IntegerNoise::DoubleGeometric;
/// let once = Profile::of_tree(&total, &[0.0, 2.0], noise, ChangeKind::Moved)?.unwrap();
/// assert!((once.epsilon(0.0) - 1.0).abs() < 1e-12); // the pure loss
/// assert!((once.rho().unwrap() - 0.2594).abs() < 1e-4); // free noise pays 0.2449, the bound by epsilon is 0.4621
/// // A hundred such releases at delta 1e-6: less than by rho, and far less than 100 epsilon.
/// let many = once.composed(100);
/// assert!((30.0..75.0).contains(&many.epsilon(1e-6)));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profile(Vec<Curve>);

impl Profile {
    /// What integer noise on the nodes of a tree pays that is conditioned on its sums.
    ///
    /// - `scales`: lambda or sigma by level; 0 where all nodes are known.
    /// - `kind`: one record added, or moved; the smallest change is the first of these that there is.
    ///
    /// `None`: there is no such change. Errors: not one scale for each level, one beyond the law's range; tables that have more
    /// than 2^18 entries or take more than 2e10 multiplications, more than 20,000 changes that differ ([`crate::Error::TooLarge`]).
    pub fn of_tree(
        tree: &Hierarchy,
        scales: &[f64],
        noise: IntegerNoise,
        kind: ChangeKind,
    ) -> Result<Option<Self>> {
        let noisy = |scale: &f64| (*scale > 0.0).then_some(*scale);
        match noise {
            IntegerNoise::DoubleGeometric => {
                let laws = scales.iter().map(|scale| noisy(scale).map(DoubleGeometric::new).transpose());
                Self::on_tree(tree, &laws.collect::<Result<Vec<_>>>()?, kind)
            }
            IntegerNoise::DiscreteGaussian => {
                let laws = scales.iter().map(|scale| noisy(scale).map(DiscreteGaussian::new).transpose());
                Self::on_tree(tree, &laws.collect::<Result<Vec<_>>>()?, kind)
            }
        }
    }

    fn on_tree<L: IntegerLaw>(
        tree: &Hierarchy,
        laws: &[Option<L>],
        kind: ChangeKind,
    ) -> Result<Option<Self>> {
        let mut walk = Walk::new(tree, laws)?;
        let added = if kind == ChangeKind::Moved { Vec::new() } else { walk.added()? };
        let is_enough = kind == ChangeKind::Added || !added.is_empty();
        Ok(Self::of(if is_enough { added } else { walk.moved()? }))
    }

    /// What integer noise on the entries of a table pays that is conditioned on equations and inequalities.
    ///
    /// - `region`: the inequalities, as bounds on the noise of some table that keeps them.
    ///
    /// A profile is that of the worst of all tables that keep the same.
    ///
    /// `None`: there is no such change, or its losses are not computed: of what inequalities bound only the parts of up to 200
    /// tables, and single counts with a bound on one side, are. Errors: as [`Profile::of_tree`]; under other equations than
    /// totals, trees of entries and margins, more than 2^24 points of their lattice.
    pub fn of_table(
        invariant: &Linear,
        region: &Region,
        scale: f64,
        noise: IntegerNoise,
        kind: ChangeKind,
    ) -> Result<Option<Self>> {
        let reduced = |part: Bounded| if part.region.is_everything() { vec![part] } else { part.reduced() };
        let parts = region.components(invariant).into_iter().flat_map(reduced);
        let entries = |component: &Component| {
            let mut counts = vec![true; component.entries.len()];
            if let Some(tree) = worst::tree(component) {
                let first = usize::from(tree.hierarchy.is_known(0));
                let inner = (first..tree.hierarchy.nodes()).filter(|&v| !tree.hierarchy.is_leaf(v));
                inner.for_each(|v| counts[tree.entries[v - first] as usize] = false);
            }
            counts.into_iter().map(|counts| (scale, counts)).collect()
        };
        Self::of_parts(&parts::alike(parts, entries), noise, kind)
    }

    /// What integer noise on the nodes of a tree pays that is conditioned on its sums and on inequalities. For
    /// [`Profile::of_tree`]'s arguments.
    ///
    /// - `nonnegative`: the counts by node, where no leaf may be negative.
    /// - `region`: other inequalities, on the noise around the given table, with the nodes as entries.
    ///
    /// `None` and errors: as [`Profile::of_table`].
    pub fn of_tree_within(
        tree: &Hierarchy,
        scales: &[f64],
        nonnegative: Option<&[i64]>,
        region: &Region,
        noise: IntegerNoise,
        kind: ChangeKind,
    ) -> Result<Option<Self>> {
        tree.check_one_per_level("scales", scales.len())?;
        let region = match nonnegative {
            Some(counts) => region.clone().above(counts, tree.leaves().iter().map(|&leaf| leaf as usize)),
            None => region.clone(),
        };
        let parts = region.components(&within::equations(tree)?).into_iter().flat_map(|part| part.reduced());
        let entry = |&node: &u32| (scales[tree.level(node as usize)], tree.is_leaf(node as usize));
        let parts = parts::alike(parts, |component| component.entries.iter().map(entry).collect());
        Self::of_parts(&parts, noise, kind)
    }

    fn of_parts(parts: &[Part], noise: IntegerNoise, kind: ChangeKind) -> Result<Option<Self>> {
        let found = match noise {
            IntegerNoise::DoubleGeometric => parts::of_changes(parts, noise, &DoubleGeometric::new, kind)?,
            IntegerNoise::DiscreteGaussian => parts::of_changes(parts, noise, &DiscreteGaussian::new, kind)?,
        };
        Ok(found.and_then(Self::of))
    }

    fn of(found: Vec<Losses>) -> Option<Self> {
        (!found.is_empty()).then(|| Self(found.into_iter().map(Curve::Losses).collect()))
    }

    /// What free integer noise pays where counts with these scales change by 1 each.
    ///
    /// Errors: a scale beyond the law's range, or so large that its table has more than 2^18 entries.
    pub fn of_free(scales: &[f64], noise: IntegerNoise) -> Result<Self> {
        let losses = match noise {
            IntegerNoise::DoubleGeometric => {
                let laws = scales.iter().map(|&scale| DoubleGeometric::new(scale));
                tree::of_free(&laws.collect::<Result<Vec<_>>>()?)?
            }
            IntegerNoise::DiscreteGaussian => {
                let laws = scales.iter().map(|&scale| DiscreteGaussian::new(scale));
                tree::of_free(&laws.collect::<Result<Vec<_>>>()?)?
            }
        };
        Ok(Self(vec![Curve::Losses(losses)]))
    }

    /// What free Laplace noise pays where counts with these scales change by 1 each.
    pub fn of_free_laplace(scales: &[f64]) -> Self {
        // A thousand steps and more in all of them; of which the largest loss of each is a multiple, if that takes no more than 4,096.
        let rates: Vec<f64> = scales.iter().map(|scale| 1.0 / scale).collect();
        let all: f64 = rates.iter().sum();
        let finest = all / 1024.0;
        let exact = tree::common(&rates).filter(|step| all / step <= 4096.0);
        let step = exact.map_or(finest, |step| step / libm::ceil(step / finest));
        let each = rates.iter().map(|&rate| Losses::laplace(rate, step));
        let all = each.reduce(|all, one| all.and(&one)).unwrap_or_else(|| Losses::pure(0.0));
        Self(vec![Curve::Losses(all)])
    }

    /// What every release with this pure loss pays at most.
    pub fn pure(epsilon: f64) -> Self {
        Self(vec![Curve::Losses(Losses::pure(epsilon))])
    }

    /// What normal noise pays, also where it is conditioned on equations and convex inequalities: `mu = sqrt(2 rho)`.
    pub fn normal(mu: f64) -> Self {
        Self(vec![Curve::Normal(mu)])
    }

    /// What a rho-zCDP release pays at most.
    pub fn concentrated(rho: f64) -> Self {
        Self(vec![Curve::Concentrated(rho)])
    }

    /// The least delta with which the release is (epsilon, delta)-private. `epsilon` >= 0.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let of = |curve: &Curve| match curve {
            Curve::Losses(losses) => losses.delta(epsilon),
            Curve::Normal(mu) => normal_curve::delta_at(*mu, epsilon),
            Curve::Concentrated(rho) => concentrated_delta(*rho, epsilon),
        };
        self.most(of)
    }

    /// The least epsilon with which the release is (epsilon, delta)-private; infinite where there is none. `delta` in
    /// [0, 1).
    pub fn epsilon(&self, delta: f64) -> f64 {
        let of = |curve: &Curve| match curve {
            Curve::Losses(losses) => losses.epsilon(delta),
            Curve::Normal(0.0) | Curve::Concentrated(0.0) => 0.0,
            Curve::Normal(_) | Curve::Concentrated(_) if delta == 0.0 => f64::INFINITY,
            Curve::Normal(mu) => {
                let rho = 0.5 * mu * mu;
                normal_curve::epsilon(*mu, delta, rho + 2.0 * libm::sqrt(rho * -libm::log(delta)))
            }
            Curve::Concentrated(rho) => Accountant::Zcdp.epsilon(*rho, delta),
        };
        self.most(of)
    }

    /// The least error of the second kind of a test with an error of the first kind of `alpha`, in [0, 1]: nobody who
    /// sees the release, and says wrongly with this probability that the change was made, misses it less often.
    pub fn error_of_second_kind(&self, alpha: f64) -> f64 {
        let of = |curve: &Curve| match curve {
            Curve::Losses(losses) => between(&losses.corners(), alpha),
            Curve::Normal(_) if alpha <= 0.0 || alpha >= 1.0 => 1.0 - alpha,
            Curve::Normal(mu) => normal_cdf(-normal_quantile(alpha) - mu),
            Curve::Concentrated(rho) => {
                // From every (epsilon, delta): beta >= 1 - delta - e^epsilon alpha, and with both turned round.
                let at = |epsilon: f64| {
                    let delta = concentrated_delta(*rho, epsilon);
                    let grown = 1.0 - delta - libm::exp(epsilon) * alpha;
                    grown.max(libm::exp(-epsilon) * (1.0 - delta - alpha))
                };
                let end = rho + 12.0 * libm::sqrt(rho.max(f64::MIN_POSITIVE));
                (0..=400).map(|k| at(end * f64::from(k) / 400.0)).fold(0.0, f64::max)
            }
        };
        self.0.iter().map(of).fold(1.0 - alpha, f64::min)
    }

    /// The least rho with which the release is rho-zCDP. `None`: it is not known of every change.
    pub fn rho(&self) -> Option<f64> {
        self.all(|curve| match curve {
            Curve::Losses(losses) => losses.rho(),
            Curve::Normal(mu) => Some(0.5 * mu * mu),
            Curve::Concentrated(rho) => Some(*rho),
        })
    }

    /// The least mu with which the release is mu-Gaussian-private. `None`: it is not known of every change.
    pub fn mu(&self) -> Option<f64> {
        self.all(|curve| match curve {
            Curve::Losses(losses) => losses.mu(),
            Curve::Normal(mu) => Some(*mu),
            Curve::Concentrated(rho) => (*rho == 0.0).then_some(0.0),
        })
    }

    /// What so many releases of the same data pay together, each as this one: the same change is made in all.
    pub fn composed(&self, releases: u64) -> Self {
        let times = releases as f64;
        let of = |curve: &Curve| match curve {
            Curve::Losses(losses) => Curve::Losses(losses.power(releases)),
            Curve::Normal(mu) => Curve::Normal(mu * libm::sqrt(times)),
            Curve::Concentrated(rho) => Curve::Concentrated(rho * times),
        };
        Self(self.0.iter().map(of).collect())
    }

    fn most(&self, of: impl Fn(&Curve) -> f64) -> f64 {
        self.0.iter().map(of).fold(0.0, f64::max)
    }

    fn all(&self, of: impl Fn(&Curve) -> Option<f64>) -> Option<f64> {
        self.0.iter().map(of).try_fold(0.0, |most: f64, one| Some(most.max(one?)))
    }
}

/// The least delta of which [`Accountant::Zcdp`] makes at most this epsilon.
fn concentrated_delta(rho: f64, epsilon: f64) -> f64 {
    let fits = |log: f64| Accountant::Zcdp.epsilon(rho, libm::exp(log)) <= epsilon;
    if rho == 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (-700.0, 0.0);
    if fits(low) {
        return libm::exp(low);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if fits(middle) { high = middle } else { low = middle }
    }
    libm::exp(high)
}
