//! The catalogue in words: rows of `congenial methods`, and of the reference's tables.

use congenial_core::methods::{Facts, Kind, LawKind, Laws, MethodKind, NONNEGATIVE_KEY, OptionFacts, Place};

/// An option with its default, for people.
fn option(option: &OptionFacts) -> String {
    let key = format!("`{}`", option.key);
    match option.kind {
        Kind::Flag => key,
        Kind::Name(names) | Kind::NameOrEntries(names) => {
            let others = names[1..].iter().map(|n| code(n)).collect::<Vec<_>>().join(", ");
            let listed = matches!(option.kind, Kind::NameOrEntries(_));
            let listed = if listed { ", or a list of entries by number, from 1" } else { "" };
            format!("{key}: {} (default) or {others}{listed}", code(names[0]))
        }
        _ => match option.default() {
            Some(value) => format!("{key} ({value})"),
            None => key,
        },
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// The laws that a method serves at a place, in words.
pub fn served(kind: MethodKind, place: Place) -> String {
    let names = |laws: &Laws| {
        let served: Vec<&str> =
            LawKind::ALL.iter().filter(|law| (laws.has)(**law)).map(|law| law.name()).collect();
        if served.is_empty() { "no law".to_owned() } else { served.join(", ") }
    };
    let bounded = |laws: &Laws, of: &[(&str, Laws)]| {
        let all = names(laws);
        let others = of.iter().map(|(place, laws)| (place, names(laws))).filter(|(_, names)| *names != all);
        let others: String = others.map(|(place, names)| format!("; {place}: {names}")).collect();
        all + &others
    };
    match (place, kind.facts()) {
        (Place::Tree { .. }, Facts { on_trees: Some(on), .. }) => {
            let nodes = ("with inequalities between nodes", on.inequalities);
            bounded(&on.laws, &[("where releases are >= 0", on.nonnegative), nodes])
        }
        (Place::Table { .. }, Facts { on_tables: Some(on), .. }) => {
            bounded(&on.laws, &[("with inequalities", on.inequalities)])
        }
        _ => "none".into(),
    }
}

/// What a method does on trees or on tables, in words; `None` where it serves neither.
pub fn what(facts: &Facts, tree: bool) -> Option<&'static str> {
    if tree { facts.on_trees.map(|on| on.what) } else { facts.on_tables.map(|on| on.what) }
}

/// Rows of the methods that serve a place: name, what they do, options with defaults.
pub fn methods_on(place: Place) -> Vec<[String; 3]> {
    let tree = matches!(place, Place::Tree { .. });
    let row = |facts: &Facts| {
        let options = facts.options.iter().filter(|option| tree || option.key != NONNEGATIVE_KEY);
        let options = options.map(|one| option(one)).collect::<Vec<_>>().join(", ");
        Some([code(facts.name), what(facts, tree)?.to_owned(), options])
    };
    MethodKind::ALL.iter().chain([&MethodKind::OWN]).filter_map(|kind| row(kind.facts())).collect()
}

/// Rows of the laws of a place: name, and what they are.
pub fn laws_on(place: Place) -> Vec<[String; 2]> {
    let what = |law: &LawKind| match place {
        Place::Tree { .. } => law.facts().on_trees,
        Place::Table { .. } => law.facts().on_tables,
    };
    LawKind::ALL.iter().filter_map(|law| Some([code(law.name()), what(law)?.to_owned()])).collect()
}
