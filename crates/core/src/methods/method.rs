//! A method with its options, as a value.

use super::asked::Asked;
use super::chains::Chains;
use super::choices::Choices;
use super::draws::Draws;
use super::erased::Erased;
use super::facts::{Facts, How, Place};
use super::known_options::NONNEGATIVE_KEY;
use super::laws::{LawKind, Laws};
use super::options::{OptionFacts, Value};
use super::own::Own;
use super::problem::{On, Problem};
use super::projection::Projection;
use crate::error::Result as Outcome;
use crate::kernel::Forgetting;
use crate::rng::Stream;
use crate::sdc::Publishing;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A method without its options.
///
/// # Examples
///
/// ```
/// use congenial_core::methods::{LawKind, MethodKind, Place};
///
/// let exact = MethodKind::named("exact").expect("a method of ours");
/// assert!(exact.conditions() && !exact.is_chain());
/// let method = exact.with(|_| None); // every option at its default
/// let equations = Place::Table { inequalities: false };
/// assert!(method.serves(LawKind::DoubleGeometric, equations).is_ok());
/// // Under inequalities there is no exact sampler of the ℓ2 law here.
/// assert!(method.serves(LawKind::L2, Place::Table { inequalities: true }).is_err());
/// ```
#[derive(Clone, Copy)]
pub struct MethodKind(pub(super) &'static dyn Erased);

impl PartialEq for MethodKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for MethodKind {}

impl Hash for MethodKind {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.name().hash(hasher);
    }
}

impl fmt::Debug for MethodKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl MethodKind {
    /// What is known of the method.
    pub fn facts(self) -> &'static Facts {
        self.0.facts()
    }

    /// The method with these values of its options.
    pub fn with(self, value: impl Fn(&'static OptionFacts) -> Option<Value>) -> Method {
        Method { kind: self, asked: Asked::new(self.facts(), value) }
    }

    /// The name of the method in configs and results.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The method of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().chain([Self::OWN]).find(|kind| kind.name() == name)
    }

    /// Whether the method runs a Markov chain.
    pub fn is_chain(self) -> bool {
        self.facts().how == How::Chain
    }

    /// Whether the method conditions on the invariant; else it moves free noise to it, or leaves it.
    pub fn conditions(self) -> bool {
        self.facts().conditions()
    }

    /// Whether it stands for methods that are not ours.
    pub fn is_own(self) -> bool {
        self.facts().is_own
    }

    /// Whether the method leaves free noise as it is.
    pub fn is_free(self) -> bool {
        self.facts().how == How::Free
    }

    /// The names of the methods that keep inequalities between nodes of a hierarchy with noise of a law.
    fn between_nodes(law: LawKind) -> String {
        let keeps = |kind: &&Self| {
            kind.conditions() && kind.facts().on_trees.is_some_and(|on| (on.inequalities.has)(law))
        };
        Self::ALL.iter().filter(keeps).map(|kind| kind.name()).collect::<Vec<_>>().join(" or ")
    }

    /// Whether the method serves some law at a place. Errors: why not.
    pub fn somewhere(self, place: Place) -> Result<(), &'static str> {
        match (place, self.facts()) {
            (Place::Tree { .. }, Facts { on_trees: None, .. }) => {
                Err("it serves tables under an [[invariant]] only")
            }
            (Place::Table { .. }, Facts { on_tables: None, .. }) => {
                Err("it serves nodes of a hierarchy (`data.levels`) only")
            }
            _ => Ok(()),
        }
    }
}

/// A method with its options: what is [`Asked`] of it, and how it does it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    kind: MethodKind,
    asked: Asked,
}

impl Deref for Method {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

impl Method {
    /// A method that is not ours, as a value.
    pub fn of_own(own: Own) -> Self {
        MethodKind::OWN.with(|_| Some(Value::Own(own)))
    }

    /// The other method with which it shares its noise: a method that is not ours with free noise, and so with all
    /// others; `None` if its streams are its own.
    pub fn noise_like(&self) -> Option<Self> {
        self.facts().is_own.then(|| MethodKind::FREE.with(|_| None))
    }

    /// What a count that the method publishes says of the true one, if it draws no noise; `None`: it does, or nothing is known. Errors:
    /// options that do not go together.
    pub fn publishing(&self) -> Outcome<Option<Publishing>> {
        self.kind.0.publishing(&self.asked)
    }

    /// The method without its options.
    pub fn kind(&self) -> MethodKind {
        self.kind
    }

    /// What the method does with free noise, as closed forms and oracles know it; `None`: nothing of what they know.
    pub fn projection(&self) -> Option<Projection> {
        self.kind.0.projection(&self.asked)
    }

    /// The method with a chain of open length.
    pub fn without_length(self) -> Self {
        self.kind.with(|option| self.value(option.key).filter(|_| !option.length))
    }

    /// The method with a chain of this length, if it runs one whose length is open.
    pub fn with_length(self, length: impl Fn(&OptionFacts) -> u64) -> Self {
        let open = |option: &OptionFacts| option.length.then(|| Value::Count(length(option)));
        self.kind.with(|option| self.value(option.key).or_else(|| open(option)))
    }

    /// Whether the method serves a law at a place; what needs tables or bases is left to the sampler. Errors: why not.
    pub fn serves(&self, law: LawKind, place: Place) -> Result<(), String> {
        self.kind().somewhere(place)?;
        let Facts { on_trees, on_tables, .. } = self.facts();
        let among = |laws: Laws| {
            let laws = self.kind.0.laws(&self.asked, place, laws);
            if (laws.has)(law) { Ok(()) } else { Err((laws.why)(law)) }
        };
        match (place, on_trees, on_tables) {
            (Place::Tree { inequalities }, Some(on), _) => {
                if inequalities {
                    among(on.inequalities)
                        .map_err(|why| format!("{why}: want {}", MethodKind::between_nodes(law)))?;
                }
                among(if self.nonnegative() { on.nonnegative } else { on.laws })
            }
            (Place::Table { inequalities: true }, _, Some(on)) => among(on.inequalities),
            (Place::Table { inequalities: false }, _, Some(on)) => among(on.laws),
            _ => Ok(()),
        }
    }

    /// Whether the exact sampler serves what the method draws of a law at a place, if it conditions. Errors: why not.
    pub fn is_drawn_exactly(&self, law: LawKind, place: Place) -> Result<(), String> {
        let sign = Value::Flag(self.nonnegative());
        let exact = MethodKind::EXACT.with(|option| (option.key == NONNEGATIVE_KEY).then_some(sign));
        exact.serves(law, place)
    }

    /// Whether the options of the method go together. Errors: why not.
    pub fn takes(&self) -> Outcome<()> {
        self.kind.0.takes(&self.asked)
    }

    /// Whether the method with its options serves the counts and what ties them. Errors: why not.
    pub fn fits(&self, place: On) -> Outcome<()> {
        self.kind.0.fits(&self.asked, place)
    }

    /// Prepares everything of a problem that does not depend on the replicate. Errors: what the method does not serve.
    pub fn prepare(&self, problem: &Problem) -> Outcome<Box<dyn Draws>> {
        self.kind.0.prepare(problem)
    }

    /// The method's chain, alone and in pairs. Errors: it has none on integer noise here.
    pub fn chains(&self, problem: &Problem) -> Outcome<Box<dyn Chains>> {
        self.kind.0.chains(problem)
    }

    /// What bounds the distance of the method's chain to its law, whatever its pairs show, with the probability `1 -
    /// level`: `None` if its pairs alone do; else the bound, or nothing where there is none. Errors: the chain.
    pub fn forgetting(
        &self,
        problem: &Problem,
        level: f64,
        rng: &mut Stream,
    ) -> Option<Outcome<Option<Forgetting>>> {
        self.facts().forgets.then(|| self.kind.0.forgetting(problem, level, rng))
    }

    /// All that the method can release, for every noise of double geometric law. Errors: it conditions; the projection.
    pub fn choices<'a>(&self, problem: &Problem<'a>) -> Outcome<Choices<'a>> {
        self.kind.0.choices(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_back_from_their_values() {
        for &kind in MethodKind::ALL {
            let method = kind.with(OptionFacts::default);
            assert_eq!((method.kind(), MethodKind::named(method.name())), (kind, Some(kind)));
            let values = method.values();
            let back = kind.with(|option| {
                values.iter().find(|(other, _)| other.key == option.key).map(|&(_, value)| value)
            });
            assert_eq!(back, method, "{}", method.name());
            assert_eq!(method.length().is_some(), kind.is_chain(), "{}", method.name());
            let open = kind.with(|option| option.default().filter(|_| !option.length));
            assert_eq!(
                (open.length(), open.with_length(|_| 7).length()),
                (None, kind.is_chain().then_some(7))
            );
        }
        let named = |name| MethodKind::named(name).map(|kind| kind.with(OptionFacts::default).words());
        assert_eq!(
            named("lattice-metropolis").as_deref(),
            Some("lattice-metropolis steps=200000,a=0.36787944117144233,basis=smith")
        );
        assert_eq!(named("none"), None);
    }
}
