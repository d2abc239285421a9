//! What is asked of a method: its facts with the values of its options.

use super::facts::{Facts, How, OnTables};
use super::known_options::{NONNEGATIVE_KEY, START};
use super::laws::LawKind;
use super::options::{OptionFacts, OptionValue, Value};
use super::own::{Own, Promises};
use crate::kernel::Start;

/// Options of a method at most.
const OPTIONS: usize = 5;

/// A method, as far as it is data: what is known of it, and the values of its options.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    facts: &'static Facts,
    /// The values of the options, in the order of [`Facts::options`].
    values: [Option<Value>; OPTIONS],
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        self.facts.name == other.facts.name && self.values == other.values
    }
}

impl Asked {
    /// A method with these values of its options.
    pub(super) fn new(facts: &'static Facts, value: impl Fn(&'static OptionFacts) -> Option<Value>) -> Self {
        assert!(facts.options.len() <= OPTIONS, "{} has too many options", facts.name);
        let mut values = [None; OPTIONS];
        for (place, option) in values.iter_mut().zip(facts.options) {
            *place = option.normal(value(option));
        }
        Self { facts, values }
    }

    /// What is known of the method.
    pub fn facts(&self) -> &'static Facts {
        self.facts
    }

    /// The options that have a value, with their values.
    pub fn values(&self) -> Vec<(&'static OptionFacts, Value)> {
        let all = self.facts.options.iter().zip(self.values);
        all.filter_map(|(option, value)| Some((*option, value?))).collect()
    }

    /// The value of one of the options.
    pub(super) fn get<T: OptionValue>(&self, option: &OptionFacts) -> T {
        T::read(self.value(option.key))
    }

    pub(super) fn value(&self, key: &str) -> Option<Value> {
        let place = self.facts.options.iter().position(|option| option.key == key);
        place.and_then(|place| self.values[place])
    }

    /// The method that this stands for, if it is not one of ours.
    pub fn own(&self) -> Option<Own> {
        self.facts.options.iter().find_map(|option| OptionValue::read(self.value(option.key)))
    }

    /// The name of the method in configs and results.
    pub fn name(&self) -> &'static str {
        self.facts.name
    }

    /// Whether the method promises that every release is >= 0 (on hierarchies; on tables the invariant says it).
    pub fn nonnegative(&self) -> bool {
        let given = |(option, value): &(&OptionFacts, Value)| {
            option.key == NONNEGATIVE_KEY && *value == Value::Flag(true)
        };
        self.facts.nonnegative
            || self.promises().is_some_and(|promises| promises.nonnegative)
            || self.values().iter().any(given)
    }

    /// What a method that is not ours has promised; `None` for one of ours.
    fn promises(&self) -> Option<Promises> {
        self.facts.is_own.then(|| self.own().map_or(Promises::default(), Own::promises))
    }

    /// Whether the method runs a Markov chain.
    pub fn is_chain(&self) -> bool {
        self.facts.how == How::Chain
    }

    /// Where the method's chain begins.
    pub fn start(&self) -> Start {
        Start::read(self.value(START))
    }

    /// Whether the method conditions on the invariant; else it moves free noise to it, or leaves it.
    pub fn conditions(&self) -> bool {
        self.facts.conditions()
    }

    /// Whether the method promises the equations.
    pub fn keeps_equations(&self) -> bool {
        self.promises().map_or(self.facts.how != How::Free, |promises| promises.invariant)
    }

    /// Whether the method keeps inequalities of a table; else it keeps equations only, or nothing.
    pub fn keeps_inequalities(&self) -> bool {
        let some = |on: &OnTables| LawKind::ALL.iter().any(|law| (on.inequalities.has)(*law));
        let ours = || self.facts.on_tables.as_ref().is_some_and(some);
        self.keeps_equations() && self.promises().map_or_else(ours, |promises| promises.inequalities)
    }

    /// Whether the method's releases are integers if the noise is.
    pub fn keeps_integers(&self) -> bool {
        self.promises().map_or(self.facts.integers, |promises| promises.integers)
    }

    /// Whether the method's releases are integers under a law: it keeps the noise's, or ends with a rounding.
    pub fn releases_integers(&self, law: LawKind) -> bool {
        let promised = self.promises().is_some_and(|promises| promises.integers);
        self.facts.rounds || promised || (self.keeps_integers() && !law.is_continuous())
    }

    /// The length of the method's chain, in sweeps or steps: `None` if it runs none, or until chains meet.
    pub fn length(&self) -> Option<u64> {
        self.values().into_iter().find_map(|(option, value)| match value {
            Value::Count(n) if option.length => Some(n),
            _ => None,
        })
    }

    /// The name (for a method that is not ours the name that it has there) and the options, as people read them.
    pub fn title(&self) -> (&str, String) {
        match self.own() {
            Some(own) => Own::named(own.words()),
            None => (self.name(), self.options()),
        }
    }

    /// The name with the options, as it stands in results.
    pub fn words(&self) -> String {
        let (name, options) = self.title();
        format!("{name} {options}").trim_end().to_owned()
    }

    /// The options other than non-negativity, as `name=value` joined by commas; empty if there are none.
    pub fn options(&self) -> String {
        self.listed(|option| option.key != NONNEGATIVE_KEY)
    }

    /// All options, as `name=value` joined by commas; empty if there are none.
    pub fn all_options(&self) -> String {
        self.listed(|_| true)
    }

    fn listed(&self, wanted: impl Fn(&OptionFacts) -> bool) -> String {
        let words = |(option, value): (&OptionFacts, Value)| match value {
            Value::Own(own) => own.words().to_owned(),
            value => format!("{}={value}", option.key),
        };
        let values = self.values().into_iter().filter(|(option, _)| wanted(option));
        values.map(words).collect::<Vec<_>>().join(",")
    }
}
