//! The noise laws: their names, what is known of each, and the one place where a name becomes a type.

use crate::error::{Error, Result};
use crate::exact::{ContinuousExact, ExactLattice, TreeLaw};
use crate::imaging::SimplexValue;
use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, Gaussian, Laplace, Law, LineLaw};
use crate::privacy::{Accountant, Guarantee};

/// What noise a law is, whatever its name and its calibration: statements of privacy, closed forms and oracles are of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A product over the counts, of reals with the density `exp(-|z|/lambda)`.
    Laplace,
    /// A product over the counts, of integers with the weight `exp(-|z|/lambda)`.
    DoubleGeometric,
    /// A product over the counts, of normal reals.
    Gaussian,
    /// A product over the counts, of integers with the weight `exp(-z²/(2 sigma²))`.
    DiscreteGaussian,
    /// Integers with the weight `exp(-epsilon ‖z‖₂)`: no product.
    Euclidean,
    /// No noise: of what is released in another way, and states no loss.
    Nothing,
}

/// What is known of a law.
#[derive(Debug, Clone, Copy)]
pub struct LawFacts {
    /// The name in configs and results.
    pub name: &'static str,
    /// What noise it is.
    pub family: Family,
    /// What the law is on the levels of a hierarchy; `None` if it is no law there.
    pub on_trees: Option<&'static str>,
    /// What the law is on a table; `None` if it is no law there.
    pub on_tables: Option<&'static str>,
    /// How an epsilon is read off a rho at a delta, if its privacy is stated with one.
    pub accountant: Option<Accountant>,
    /// Whether the lattice of a table calibrates it, and epsilon is that of its own theorem.
    pub by_lattice: bool,
}

macro_rules! laws {
    ($($(#[$doc:meta])* $kind:ident = $name:literal of $family:ident, $facts:expr;)*) => {
        /// A noise law by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum LawKind { $($(#[$doc])* $kind,)* }

        impl LawKind {
            /// Every law.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// What is known of the law.
            pub fn facts(self) -> &'static LawFacts {
                const FACTS: &[LawFacts] =
                    &[$(LawFacts { name: $name, family: Family::$family, ..$facts },)*];
                &FACTS[self as usize]
            }
        }
    };
}

const NONE: LawFacts = LawFacts {
    name: "",
    family: Family::Laplace,
    on_trees: None,
    on_tables: None,
    accountant: None,
    by_lattice: false,
};

laws! {
    /// Real noise with the density `exp(-|z|/lambda)`.
    Laplace = "laplace" of Laplace, LawFacts {
        on_trees: Some("real, lambda = sensitivity / epsilon"),
        on_tables: Some("real: `exact` on totals and partitions, and with one or two free dimensions in each component, \
            also with inequalities; `line-gibbs`, `mis`, `rejection` under any invariant; all imaging"),
        ..NONE
    };
    /// Integer noise with the weight `exp(-|z|/lambda)`.
    DoubleGeometric = "double-geometric" of DoubleGeometric, LawFacts {
        on_trees: Some("integer, lambda = sensitivity / epsilon"),
        on_tables: Some("generalised Laplace, `exp(-epsilon ‖z‖₁)`"),
        ..NONE
    };
    /// Real noise, normal.
    Gaussian = "gaussian" of Gaussian, LawFacts {
        on_trees: Some("real, with `delta`, calibrated by the exact curve of normal noise"),
        on_tables: Some("real, with `delta`, calibrated by the exact curve of normal noise: `exact` without inequalities, \
            and with them where they leave one or two free dimensions in each component; `line-gibbs`, `mis`, \
            `rejection` under any invariant; all imaging"),
        accountant: Some(Accountant::Normal),
        ..NONE
    };
    /// Integer noise with the weight `exp(-z²/(2 sigma²))`.
    DiscreteGaussian = "discrete-gaussian" of DiscreteGaussian, LawFacts {
        on_trees: Some("integer, with `delta`, calibrated through zero-concentrated privacy"),
        on_tables: Some("a product, with `delta`, calibrated through zero-concentrated privacy"),
        accountant: Some(Accountant::Zcdp),
        ..NONE
    };
    /// Generalised Laplace with the ℓ1 norm, the same law as `double-geometric`.
    L1 = "l1" of DoubleGeometric, LawFacts { on_tables: Some("the same law as `double-geometric`"), ..NONE };
    /// Generalised Laplace with the ℓ2 norm.
    L2 = "l2" of Euclidean, LawFacts {
        on_tables: Some("generalised Laplace, `exp(-epsilon ‖z‖₂)`: no product over entries"),
        ..NONE
    };
    /// Discrete Gaussian, its sigma by the lattice.
    GeneralizedGaussian = "generalized-gaussian" of DiscreteGaussian, LawFacts {
        on_tables: Some("discrete Gaussian with sigma(epsilon, delta) of the lattice; `0 < delta < epsilon < 1/e`"),
        accountant: Some(Accountant::Zcdp),
        by_lattice: true,
        ..NONE
    };
    /// No noise, of methods that state no loss.
    Nothing = "none" of Nothing, LawFacts {
        on_trees: Some("no noise: of methods that state no loss, with `epsilon = inf`"),
        ..NONE
    };
}

/// A law on the integers whose noise is a product over counts.
pub trait IntegerNoise: ExactLattice + LineLaw + TreeLaw + Law<Value = i64> {}
impl<L: ExactLattice + LineLaw + TreeLaw + Law<Value = i64>> IntegerNoise for L {}

/// A law on the reals.
pub trait RealNoise: ContinuousExact + TreeLaw + Law<Value = f64> {}
impl<L: ContinuousExact + TreeLaw + Law<Value = f64>> RealNoise for L {}

/// Noise on the nodes of a tree.
pub trait TreeNoise: LineLaw + TreeLaw<Value: SimplexValue> {}
impl<L: LineLaw + TreeLaw<Value: SimplexValue>> TreeNoise for L {}

/// What is done with a law once its type is known. `law`: makes it from its scale.
pub trait OnLaw: Sized {
    /// The result of the task.
    type Output;
    /// Does the task for a law on the integers that is a product over counts.
    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output>;
    /// Does the task for a law on the reals that is a product over counts.
    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output>;
    /// Does the task for the law of the ℓ2 norm, which is no product.
    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output>;
    /// Does the task without noise. Errors: a task of noise alone.
    fn nothing(self) -> Result<Self::Output> {
        Err(Error::parameter("law", LawKind::Nothing.name(), "a law of noise"))
    }
}

impl LawKind {
    /// Turns the name into the type, and does a task with it. Errors: those of the task.
    pub fn on<T: OnLaw>(self, task: T) -> Result<T::Output> {
        match self.family() {
            Family::Laplace => task.reals(Laplace::new),
            Family::Gaussian => task.reals(Gaussian::new),
            Family::DoubleGeometric => task.integers(DoubleGeometric::new),
            Family::DiscreteGaussian => task.integers(DiscreteGaussian::new),
            Family::Euclidean => task.euclidean(EuclideanLaplace::new),
            Family::Nothing => task.nothing(),
        }
    }

    /// The name of the law in configs and results.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its noise in words.
    pub fn noise_words(self) -> String {
        match self.is_noise() {
            true => format!("{} noise", self.name()),
            false => "no noise".into(),
        }
    }

    /// What noise it is.
    pub fn family(self) -> Family {
        self.facts().family
    }

    /// The law of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|law| law.name() == name)
    }

    /// Whether the law's privacy is stated with a delta.
    pub fn needs_delta(self) -> bool {
        self.facts().accountant.is_some()
    }

    /// The definition of privacy that noise of the law is calibrated for, with this delta, which a law that needs none does not have.
    pub fn guarantee(self, delta: Option<f64>) -> Guarantee {
        match self.facts().accountant {
            None => Guarantee::Pure,
            Some(accountant) => Guarantee::Concentrated { delta: delta.unwrap_or(f64::NAN), accountant },
        }
    }

    /// Whether it is a law of the noise on all nodes of a hierarchy.
    pub fn on_hierarchies(self) -> bool {
        self.facts().on_trees.is_some() && self.is_noise()
    }

    /// Whether there is noise, and something is stated of what it pays.
    pub fn is_noise(self) -> bool {
        self.family() != Family::Nothing
    }

    /// Whether the law's noise is real-valued.
    pub fn is_continuous(self) -> bool {
        match self.family() {
            Family::Laplace | Family::Gaussian => true,
            Family::DoubleGeometric | Family::DiscreteGaussian | Family::Euclidean | Family::Nothing => false,
        }
    }

    /// Whether the law is pure: it bounds the ratio of probabilities, without delta.
    pub fn is_pure(self) -> bool {
        !self.needs_delta()
    }
}

/// The laws that a method serves somewhere, and why not the others.
#[derive(Clone, Copy)]
pub struct Laws {
    /// Whether a law is among those that are served.
    pub has: fn(LawKind) -> bool,
    /// Why another law is not served.
    pub why: fn(LawKind) -> String,
}

impl std::fmt::Debug for Laws {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(LawKind::ALL.iter().filter(|law| (self.has)(**law))).finish()
    }
}
