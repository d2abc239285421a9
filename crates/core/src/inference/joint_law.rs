//! The joint law of two sums of noise under a tree's equations.

use super::ratios::{Ratios, Weighed, of_outcomes};
use super::shapes::{Shapes, Under};
use super::sum_law::{ERROR, Passes, ROUNDING, Spectrum, SumLaw, check, too_large, window};
use crate::error::Result;
use crate::fourier::even_transform;
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;

/// The law of `(S, T) = (Σ a_i z_i, Σ b_i z_i)` over leaves i of a tree, all `a_i` and `b_i` -1, 0 or 1, where z is the noise of
/// [`SumLaw`].
///
/// It says of a release `y = x + z` how far `cos θ Σ a_i y_i - sin θ Σ b_i y_i` may be from the same of x, for every angle θ. So it
/// gives intervals of the ratio of both sums, which hold at every table of counts ([`JointLaw::ratios`]).
///
/// The characteristic function at `(ω, η)` is that of one sum in which a leaf weighs `w(z) e^(i(ωa + ηb)z)`: one upward pass for each
/// pair of frequencies, of which half suffice, since z and -z have one law. The window is that of the wider margin, which [`SumLaw`]
/// finds: in its outer half lies less than 1e-12 of each. Probabilities are off by rounding (near 1e-13 of a whole region), and by what a
/// window leaves out.
///
/// The cost is `O(shapes · side³ ln side)`, with the shapes that have leaves of both sums below them, and the window's side. What depends
/// on one frequency alone is computed for that alone.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::JointLaw;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::DoubleGeometric;
///
/// // A state with two counties of two towns each; the first town of each county, and all towns of the first county.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let laws = [DoubleGeometric::new(0.7)?; 3];
/// let law = JointLaw::on_tree(&tree, &laws, [&[1, 0, 1, 0], &[1, 1, 0, 0]], 1e9)?;
/// let angle = 0.3;
/// let half = law.half_width(angle, 0.9);
/// assert!(law.within(angle, half) >= 0.9 && law.within(angle, half - 1e-9) < 0.9);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JointLaw {
    /// The largest |s|, and the largest |t|, with a probability.
    reach: [usize; 2],
    /// `P(S = s, T = t)` by s from 0 and by t from below; that of (-s, -t) is the same.
    p: Vec<f64>,
}

/// Longest side of a window: its table takes 64 MiB.
const MOST: usize = 1 << 11;
/// What rounding may do to a value of `cos θ s - sin θ t`, by the reach.
const TIE: f64 = 1e-14;

impl JointLaw {
    /// The law on a tree.
    ///
    /// - `laws`: one per level.
    /// - `weights`: the a and the b, one per leaf in the order of [`Hierarchy::leaves`].
    /// - `most`: products that it may take, some 1.1 ns each.
    ///
    /// Errors: another number of laws or weights; a weight other than -1, 0 and 1; scales so large that the window of a table is
    /// longer than 2^11, or that more products are needed ([`Error::TooLarge`](crate::Error::TooLarge)).
    pub fn on_tree<L: IntegerLaw>(
        tree: &Hierarchy,
        laws: &[L],
        weights: [&[i8]; 2],
        most: f64,
    ) -> Result<Self> {
        tree.check_one_per_level("laws", laws.len())?;
        for own in weights {
            check(tree, own)?;
        }
        let pairs = || weights[0].iter().zip(weights[1]);
        let own: Vec<[i8; 2]> = pairs().map(|(&a, &b)| [a, b]).collect();
        let shapes = Shapes::of(tree, &own);
        let are_both = shapes.weighted.last() == Some(&[true, true]);
        let fits = |side: f64| match work(&shapes, side) {
            _ if !are_both => Ok(()),
            _ if side > MOST as f64 => {
                Err(too_large("the law of two sums", side, MOST as f64, "entries on a side"))
            }
            work if work > most => Err(too_large("the law of two sums", work, most, "products")),
            _ => Ok(()),
        };
        // The window of each margin is at least as long.
        fits(window(&shapes, laws, false).max(8.0))?;
        let margin = |of: &dyn Fn((&i8, &i8)) -> [i8; 2]| {
            let own: Vec<[i8; 2]> = pairs().map(of).collect();
            SumLaw::of_shapes(&Shapes::of(tree, &own), laws, most)
        };
        let margins = [margin(&|(a, _)| [*a, 0])?, margin(&|(_, b)| [*b, 0])?];
        // A sum of nothing is 0.
        if !are_both {
            return Ok(Self::of_margins(&margins));
        }
        let side = margins.iter().map(SumLaw::side).fold(8, usize::max);
        fits(side as f64)?;
        let table = even_transform(&characteristic(&Passes::new(&shapes, laws, side)), side, 2);
        let cells = (side * side) as f64;
        // What rounding leaves in the tails is nothing.
        let rounded = |p: f64| if p < ROUNDING * side as f64 { 0.0 } else { p / cells };
        Ok(Self::of(side, |s, t| rounded(table[s * side + t])))
    }

    /// The law of sums one of which is 0.
    fn of_margins(margins: &[SumLaw; 2]) -> Self {
        let reach = [&margins[0], &margins[1]].map(|law| law.side() / 2 - 1);
        let [s, t] = reach.map(|reach| reach as i64);
        let p = |s: i64| (-t..=t).map(move |t| margins[0].p(s) * margins[1].p(t));
        Self { reach, p: (0..=s).flat_map(p).collect() }
    }

    /// The law with these probabilities by residues.
    fn of(side: usize, p: impl Fn(usize, usize) -> f64) -> Self {
        let half = side / 2;
        let residue = |t: i64| t.rem_euclid(side as i64) as usize;
        let all = || (0..half as i64).flat_map(|s| (1 - half as i64..half as i64).map(move |t| (s, t)));
        let mut reach = [0, 0];
        for (s, t) in all().filter(|&(s, t)| p(s as usize, residue(t)) > 0.0) {
            reach = [reach[0].max(s as usize), reach[1].max(t.unsigned_abs() as usize)];
        }
        let ends = reach.map(|reach| reach as i64);
        let inside = all().filter(|&(s, t)| s <= ends[0] && t.abs() <= ends[1]);
        Self { reach, p: inside.map(|(s, t)| p(s as usize, residue(t))).collect() }
    }

    /// `P(S = s, T = t)`.
    pub fn p(&self, s: i64, t: i64) -> f64 {
        let (s, t) = if s < 0 { (-s, -t) } else { (s, t) };
        let [most, reach] = self.reach.map(|reach| reach as i64);
        if s > most || t.abs() > reach {
            return 0.0;
        }
        self.p[(s * (2 * reach + 1) + t + reach) as usize]
    }

    /// The largest |s| and the largest |t| that have a probability here.
    pub fn reach(&self) -> [i64; 2] {
        self.reach.map(|reach| reach as i64)
    }

    /// What (S, T) can be up to its sign, with the probabilities of both signs together.
    fn outcomes(&self) -> impl Iterator<Item = Weighed> {
        let reach = self.reach[1] as i64;
        let places = (0..=self.reach[0] as i64).flat_map(move |s| (-reach..=reach).map(move |t| (s, t)));
        places.zip(&self.p).filter_map(|((s, t), &p)| {
            let p = match (s, t) {
                (0, 0) => p,
                (0, ..0) => 0.0,
                _ => 2.0 * p,
            };
            (p > 0.0).then_some(Weighed { at: [s as f64, t as f64], weight: p })
        })
    }

    /// By what (S, T) can be up to its sign, `|cos θ s - sin θ t|` with the probabilities, the largest first.
    fn distances(&self, angle: f64) -> Vec<(f64, f64)> {
        let (sin, cos) = libm::sincos(angle);
        let distance = |of: Weighed| ((cos * of.at[0] - sin * of.at[1]).abs(), of.weight);
        let mut all: Vec<(f64, f64)> = self.outcomes().map(distance).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }

    /// What rounding may do to a distance.
    fn tie(&self) -> f64 {
        TIE * (self.reach[0] + self.reach[1]) as f64
    }

    /// `P(|cos θ S - sin θ T| <= half)`; what is equal to `half` but for rounding is in it.
    pub fn within(&self, angle: f64, half: f64) -> f64 {
        let half = half + self.tie();
        1.0 - self.distances(angle).iter().take_while(|(at, _)| *at > half).map(|(_, p)| p).sum::<f64>()
    }

    /// The least h with `P(|cos θ S - sin θ T| <= h) >= level`, for a level below 1, whatever the last digits of the probabilities
    /// are. It is one of the values that can be.
    pub fn half_width(&self, angle: f64, level: f64) -> f64 {
        let (mut beyond, allowed) = (0.0, 1.0 - level - self.error());
        for (at, p) in self.distances(angle) {
            beyond += p;
            if beyond > allowed {
                return at;
            }
        }
        0.0
    }

    fn error(&self) -> f64 {
        if self.p.len() > 1 { ERROR } else { 0.0 }
    }

    /// All ratios `r = tan θ` from 0 to infinity at which `cos θ y_a - sin θ y_b` is no farther from 0 than `cos θ S - sin θ T` is with
    /// the chance `level`: one interval that has all of them in it. With `y = x + z`, `released` the sums `(y_a, y_b)`, it holds the true
    /// ratio `x_a / x_b` with at least that chance (Fieller's way), whatever x is.
    ///
    /// The level is below 1. Only what the law rules out is left out ([`Ratios`]).
    pub fn ratios(&self, released: [f64; 2], level: f64) -> Ratios {
        of_outcomes(released, &self.outcomes().collect::<Vec<_>>(), level + self.error())
    }
}

/// Products that the passes over all pairs of frequencies take.
fn work(shapes: &Shapes, side: f64) -> f64 {
    let weighed = side * (2.0 * libm::log2(side) + 6.0);
    let root = shapes.all.len() - 1;
    let of = |(place, weighted): (usize, &[bool; 2])| {
        let shape = &shapes.all[place];
        let is_weighed = !shape.known && place != root && matches!(shape.under, Under::Children(_));
        let frequencies = if *weighted == [true, true] { 0.5 * side * side } else { side };
        frequencies * if is_weighed { weighed } else { 3.0 * side }
    };
    shapes.weighted.iter().enumerate().filter(|(_, weighted)| **weighted != [false, false]).map(of).sum()
}

/// Children by shape, each with how many of it there are.
type Children = Vec<(u32, u32)>;

/// A node that has leaves of both sums below it, or is one.
struct Both {
    place: usize,
    /// Its children: those that depend on the first frequency or on none, on the second alone, and on both.
    children: [Children; 3],
}

impl Both {
    fn of(shapes: &Shapes, place: usize) -> Self {
        let mut children: [Children; 3] = Default::default();
        if let Under::Children(own) = &shapes.all[place].under {
            for &child in own {
                let group = match shapes.weighted[child.0 as usize] {
                    [_, false] => 0,
                    [false, true] => 1,
                    [true, true] => 2,
                };
                children[group].push(child);
            }
        }
        Self { place, children }
    }
}

/// A factor and values, of which there are none where all are the same.
type Product = (f64, Vec<f64>);

fn times((constant, values): Product, (factor, others): &Product) -> Product {
    let values = match (values.is_empty(), others.is_empty()) {
        (true, _) => others.clone(),
        (_, true) => values,
        _ => values.iter().zip(others).map(|(value, other)| value * other).collect(),
    };
    (constant * factor, values)
}

/// The characteristic function of both sums, by the first frequency, then by the second.
fn characteristic(passes: &Passes) -> Vec<f64> {
    let (shapes, side) = (passes.shapes, passes.side());
    let on = |which: [bool; 2]| -> Vec<usize> {
        (0..shapes.all.len()).filter(|&place| shapes.weighted[place] == which).collect()
    };
    let (first, second) = (on([true, false]), on([false, true]));
    let both: Vec<Both> = on([true, true]).into_iter().map(|place| Both::of(shapes, place)).collect();
    let mut all: Vec<Option<Spectrum>> = vec![None; shapes.all.len()];
    // Of every node of both, what its children of one sum alone make at a frequency.
    let mut factors = |places: &[usize], group: usize, at: [usize; 2]| -> Vec<Product> {
        for &place in places {
            all[place] = Some(passes.spectrum(place, at, &all));
        }
        both.iter().map(|node| passes.product(node.children[group].iter(), 1.0, &all)).collect()
    };
    let of_second: Vec<Vec<Product>> = (0..side).map(|k| factors(&second, 1, [0, k])).collect();
    let of_first: Vec<Vec<Product>> = (0..=side / 2).map(|k| factors(&first, 0, [k, 0])).collect();
    let mut table = vec![0.0; side * side];
    for (k, firsts) in of_first.iter().enumerate() {
        for (l, seconds) in of_second.iter().enumerate() {
            let value = at_both(passes, &both, [k, l], [firsts, seconds], &mut all);
            table[k * side + l] = value;
            table[(side - k) % side * side + (side - l) % side] = value;
        }
    }
    let whole = table[0];
    table.iter_mut().for_each(|value| *value /= whole);
    table
}

/// The characteristic function at a pair of frequencies, but for a factor. `of_one`: by node of both, what its children of one sum make.
fn at_both(
    passes: &Passes,
    both: &[Both],
    at: [usize; 2],
    of_one: [&[Product]; 2],
    all: &mut [Option<Spectrum>],
) -> f64 {
    let root = passes.shapes.all.len() - 1;
    for (number, node) in both.iter().enumerate() {
        let shape = &passes.shapes.all[node.place];
        if let Under::Leaf(_) = shape.under {
            all[node.place] = Some(passes.spectrum(node.place, at, all));
            continue;
        }
        let product = passes.product(node.children[2].iter(), 1.0 / passes.masses[node.place], all);
        let product = times(times(product, &of_one[0][number]), &of_one[1][number]);
        all[node.place] = Some(match node.place == root && !shape.known && !product.1.is_empty() {
            // Nothing but its value at 0 is wanted: the sum of its table by the weights of the noise.
            true => {
                let law = passes.leaf(shape.level);
                Spectrum::Constant(
                    product.0 * product.1.iter().zip(law).map(|(value, law)| value * law).sum::<f64>(),
                )
            }
            false => passes.weighed(node.place, product.0, product.1),
        });
    }
    match &all[root] {
        Some(Spectrum::Constant(value)) => *value,
        Some(Spectrum::Values(values)) => values[0],
        None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{IntegerTree, PartsScratch};
    use crate::inference::sum_law::tests::{listed, trees};
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::oracle::Formula;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::BTreeMap;

    const MUCH: f64 = 1e10;

    /// The weights of a number, leaf by leaf.
    fn weights(code: usize, leaves: usize) -> Vec<i8> {
        (0..leaves).map(|i| (code / 3usize.pow(i as u32) % 3) as i8 - 1).collect()
    }

    /// On small trees, with known nodes and three levels, under both laws: all pairs of weights of two leaves, and many of more.
    #[test]
    fn joint_laws_are_those_of_all_noise_listed() {
        fn check<L: IntegerLaw>(scales: [f64; 3], law: fn(f64) -> L, formula: fn(f64) -> Formula) {
            for tree in trees() {
                let laws: Vec<L> = scales[..tree.levels()].iter().map(|&scale| law(scale)).collect();
                let formulas: Vec<Formula> = scales.iter().map(|&scale| formula(scale)).collect();
                let n = tree.leaves().len();
                let codes = 3usize.pow(n as u32);
                for pair in (0..codes * codes).step_by([1, 1, 1, 23, 541][n]) {
                    let [a, b] = [pair / codes, pair % codes].map(|code| weights(code, n));
                    let got = JointLaw::on_tree(&tree, &laws, [&a, &b], MUCH).unwrap();
                    let want = listed(&tree, &formulas, &[&a, &b], if n > 3 { 10 } else { 20 });
                    let off = |(at, p): (&Vec<i64>, &f64)| (got.p(at[0], at[1]) - p).abs();
                    let most = want.iter().map(off).fold(0.0, f64::max);
                    let mass: f64 = want.keys().map(|at| got.p(at[0], at[1])).sum();
                    assert!(most < 1e-12 && (mass - 1.0).abs() < 1e-12, "{a:?} {b:?}: {most} {mass}");
                    let all: f64 = got.outcomes().map(|own| own.weight).sum();
                    assert!((all - 1.0).abs() < 1e-12, "{a:?} {b:?}: {all}");
                }
            }
        }
        check([0.3, 0.36, 0.33], |scale| DoubleGeometric::new(scale).unwrap(), Formula::Geometric);
        check([1.1, 0.9, 1.0], |scale| DiscreteGaussian::new(scale).unwrap(), Formula::DiscreteGaussian);
    }

    /// Three counties of eight towns; overlapping districts across counties, with a part that is taken away.
    fn wider() -> (Hierarchy, [DoubleGeometric; 3], [Vec<i8>; 2]) {
        let parents: Vec<usize> = [0, 0, 0, 0].into_iter().chain((0..24).map(|i| 1 + i / 8)).collect();
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let laws = [1.5, 2.5, 1.0].map(|scale| DoubleGeometric::new(scale).unwrap());
        let of = |pattern: [i8; 5], below: usize| -> Vec<i8> {
            (0..24).map(|i| if i < below { pattern[i % 5] } else { 0 }).collect()
        };
        (tree, laws, [of([1, 0, -1, 1, 0], 24), of([1, 1, 0, 0, 0], 16)])
    }

    /// Margins of a wider system are the laws of one sum each, which other passes compute, and so are S + T and S - T where these have
    /// weights -1, 0 and 1; draws of the sampler, which goes another way, have the law.
    #[test]
    fn margins_and_draws_have_the_law() {
        let (tree, laws, [a, b]) = wider();
        let law = JointLaw::on_tree(&tree, &laws, [&a, &b], MUCH).unwrap();
        let [s_end, t_end] = law.reach();
        let margin = |along: &dyn Fn(i64, i64) -> i64, weights: &[i8]| {
            let want = SumLaw::on_tree(&tree, &laws, weights).unwrap();
            let mut got = BTreeMap::<i64, f64>::new();
            for (s, t) in (-s_end..=s_end).flat_map(|s| (-t_end..=t_end).map(move |t| (s, t))) {
                *got.entry(along(s, t)).or_default() += law.p(s, t);
            }
            let off: f64 =
                (-400..=400).map(|k| (got.get(&k).copied().unwrap_or(0.0) - want.p(k)).abs()).sum();
            assert!(off < 1e-12, "{off}");
        };
        margin(&|s, _| s, &a);
        margin(&|_, t| t, &b);
        let less: Vec<i8> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        margin(&|s, t| s - t, &less);
        let sampler = IntegerTree::new(&tree, &laws, None).unwrap();
        let (mut rng, mut scratch) = (test_stream(302), PartsScratch::default());
        let (mut noise, draws, mut seen) =
            (vec![0; tree.nodes()], 100_000u64, BTreeMap::<(i64, i64), u64>::new());
        for _ in 0..draws {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            let sum = |weights: &[i8]| -> i64 {
                tree.leaves().iter().zip(weights).map(|(&leaf, &c)| noise[leaf as usize] * i64::from(c)).sum()
            };
            *seen.entry((sum(&a), sum(&b))).or_default() += 1;
        }
        let cells = (-s_end..=s_end).flat_map(|s| (-t_end..=t_end).map(move |t| (s, t)));
        assert_frequencies(cells.map(|at| (seen.get(&at).copied().unwrap_or(0), law.p(at.0, at.1))), draws);
    }

    /// Half widths are those of the sum over the table: at angles where integers tie and at others.
    #[test]
    fn half_widths_are_the_least_that_hold() {
        let (tree, laws, [a, b]) = wider();
        let law = JointLaw::on_tree(&tree, &laws, [&a, &b], MUCH).unwrap();
        let [s_end, t_end] = law.reach();
        let ties = [(0, 1), (1, 0), (1, 1), (1, 2), (3, 1)];
        let whole = ties.map(|(up, down): (i64, i64)| (libm::atan2(up as f64, down as f64), up, down));
        for (angle, up, down) in whole {
            // In integers: |down s - up t| over the length of (up, down).
            let length = libm::hypot(up as f64, down as f64);
            let mut mass = BTreeMap::<i64, f64>::new();
            for (s, t) in (-s_end..=s_end).flat_map(|s| (-t_end..=t_end).map(move |t| (s, t))) {
                *mass.entry((down * s - up * t).abs()).or_default() += law.p(s, t);
            }
            for level in [0.3, 0.5, 0.9, 0.99, 0.999_999] {
                let mut within = 0.0;
                let want = mass.iter().find(|(_, p)| {
                    within += **p;
                    within >= level + ERROR
                });
                let (want, got) = (*want.unwrap().0 as f64 / length, law.half_width(angle, level));
                assert!((got - want).abs() < 1e-9, "{up}/{down} {level}: {got} {want}");
                assert!((law.within(angle, got) - within).abs() < 1e-12, "{up}/{down} {level}");
                assert!(law.within(angle, got - 1e-9) < level + ERROR);
            }
        }
        for angle in [0.2, 0.9, 1.3] {
            let half = law.half_width(angle, 0.9);
            assert!(law.within(angle, half) >= 0.9 && law.within(angle, half - 1e-9) < 0.9 + ERROR);
        }
        // The half width of one sum.
        let margin = SumLaw::on_tree(&tree, &laws, &a).unwrap();
        assert_eq!(law.half_width(0.0, 0.95), margin.half_width(0.95) as f64);
    }

    #[test]
    fn what_is_fixed_is_a_point_and_what_is_wrong_is_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap().with_known(vec![true, false, false]).unwrap();
        let laws = [DoubleGeometric::new(2.0).unwrap(); 2];
        let law =
            |a: &[i8], b: &[i8]| JointLaw::on_tree(&tree, &laws, [a, b], MUCH).map_err(|e| e.to_string());
        assert_eq!(law(&[0, 0], &[0, 0]).unwrap().p(0, 0), 1.0);
        let one = SumLaw::on_tree(&tree, &laws, &[1, 0]).unwrap();
        for (a, b, of) in [([1, 0], [0, 0], [1, 0]), ([0, 0], [1, 0], [0, 1]), ([1, 0], [1, 1], [1, 0])] {
            let law = law(&a, &b).unwrap();
            let off = (-60..=60).map(|k| (law.p(of[0] * k, of[1] * k) - one.p(k)).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{a:?} {b:?} {off}");
        }
        assert!(law(&[1], &[1, 0]).unwrap_err().contains("one per leaf"));
        assert!(law(&[1, 0], &[2, 0]).unwrap_err().contains("-1, 0 or 1"));
        let few = JointLaw::on_tree(&tree, &laws, [&[1, 0], &[0, 1]], 1e3).unwrap_err().to_string();
        assert!(few.contains("the law of") && few.contains("products"), "{few}");
        let wide = [DoubleGeometric::new(100.0).unwrap(); 2];
        let wide = JointLaw::on_tree(&tree, &wide, [&[1, 0], &[0, 1]], 1e20).unwrap_err().to_string();
        assert!(wide.contains("the law of two sums") && wide.contains("on a side"), "{wide}");
    }
}
