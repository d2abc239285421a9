//! Methods that are not ours: what they are given, what they promise, and how they are named.
//!
//! A method of one's own moves noisy counts to what is released. It is given the counts with the noise that is drawn
//! here, and so shares it with free noise, the invariant, the variances of the noise and a seed of its own by
//! replicate; confidential counts it is not given, unless it is a mechanism, and says what it pays. It implements
//! [`OwnMethod`].

use crate::privacy::Declared;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The kind of methods that are not ours in configs and results.
pub const EXTERNAL: &str = "external";

/// What a method promises of every release. What it promises is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promises {
    /// It promises integers, whether the noise is integer or not.
    pub integers: bool,
    /// It promises the equations of the invariant.
    pub invariant: bool,
    /// It promises the inequalities of the invariant, on tables.
    pub inequalities: bool,
    /// It promises that no count is below 0, on trees.
    pub nonnegative: bool,
    /// It promises nothing of releases: it draws noise of its own, is given confidential counts, and says what it pays
    /// for every cell.
    pub mechanism: bool,
}

impl Promises {
    const NAMES: [&'static str; 5] = ["integers", "invariant", "inequalities", "nonnegative", "mechanism"];

    /// Reads promises from their names. Errors: a name of none.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut promises = Self::default();
        for name in names {
            *match name {
                "integers" => &mut promises.integers,
                "invariant" => &mut promises.invariant,
                "inequalities" => &mut promises.inequalities,
                "nonnegative" => &mut promises.nonnegative,
                "mechanism" => &mut promises.mechanism,
                _ => return Err(format!("it promises `{name}`, want {}", Self::NAMES.join(", "))),
            } = true;
        }
        Ok(promises)
    }
}

/// What a release keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Structure {
    /// All nodes of a tree, each the sum of its children.
    Tree {
        /// By node, its parent; 0 for the root, which comes first.
        parents: Vec<i64>,
        /// By level, the first of its nodes; behind them the number of all nodes.
        levels: Vec<i64>,
    },
    /// The entries of a table under equations `A y = b` and inequalities `B y >= c`.
    Table {
        /// The number of entries.
        entries: usize,
        /// The equations: entries and coefficients of each, and what they give.
        equations: Vec<(Vec<(u32, i64)>, i64)>,
        /// The inequalities: the same, and the least value.
        inequalities: Vec<(Vec<(u32, i64)>, i64)>,
    },
}

impl Structure {
    /// The number of counts of a release.
    pub fn counts(&self) -> usize {
        match self {
            Self::Tree { parents, .. } => parents.len(),
            Self::Table { entries, .. } => *entries,
        }
    }
}

/// A cell of the grid, as a method is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What a release keeps.
    pub structure: Arc<Structure>,
    /// The noise law.
    pub law: &'static str,
    /// The budget as given.
    pub epsilon: f64,
    /// By count, the variance of its noise; 0 for one that is known.
    pub variances: Vec<f64>,
    /// The method's options: names and values.
    pub options: Vec<(String, String)>,
}

/// A method that is not ours: implement it, and [`register`] it for configs.
pub trait OwnMethod: Send + Sync {
    /// Tells what the method promises with these options: names and values. Errors: why it cannot be used with them.
    fn promises(&self, options: &[(String, String)]) -> Result<Promises, String>;
    /// Prepares everything of a cell that does not depend on the replicate. Errors: why the method does not serve it.
    fn prepare(&self, task: Task) -> Result<Box<dyn OwnReleases>, String>;
    /// Tells what else than its name and options decides the method's releases: a part of what a cell is, so that a
    /// method that was changed is another. No blanks, commas or equals signs.
    fn identity(&self) -> String {
        String::new()
    }
}

/// A method that is not ours, ready for a cell.
pub trait OwnReleases: Send + Sync {
    /// Replaces the noisy counts of some replicates, one behind the other, by what is released; a mechanism gets the
    /// confidential counts, as often. `seeds`: one for each replicate, for what the method draws itself. Errors: why it
    /// failed.
    fn release(&self, seeds: &[u64], counts: &mut [f64]) -> Result<(), String>;

    /// What a mechanism pays for the cell; others pay what their noise pays.
    fn pays(&self) -> Option<Declared> {
        None
    }
}

/// A handle of a method with its options; handles of the same method with the same options are equal.
#[derive(Clone, Copy)]
pub struct Own(&'static Named);

struct Named {
    /// Name, options and what else decides its releases, as it stands in results and keys.
    words: String,
    /// The method as it stands in a config: keys and values of TOML.
    config: String,
    options: Vec<(String, String)>,
    method: Arc<dyn OwnMethod>,
    promises: OnceLock<Promises>,
}

/// Every method that was named, kept for good.
static NAMED: Mutex<BTreeMap<String, &'static Named>> = Mutex::new(BTreeMap::new());

impl Own {
    /// Makes the handle of a method with its options. `identity`: what else decides its releases; `config`: as it
    /// stands in a config.
    pub fn new(
        name: &str,
        identity: &str,
        config: String,
        options: Vec<(String, String)>,
        method: Arc<dyn OwnMethod>,
    ) -> Self {
        let parts = options.iter().map(|(key, value)| format!("{key}={value}"));
        let identity = Some(identity).filter(|text| !text.is_empty()).map(|text| format!("files={text}"));
        let words = std::iter::once(format!("name={name}"))
            .chain(parts)
            .chain(identity)
            .collect::<Vec<_>>()
            .join(",");
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was registered again is another, whatever it says of itself. Nothing is freed: no two have one address.
        let place = Arc::as_ptr(&method).cast::<()>() as usize;
        Self(named.entry(format!("{words} {config} {place}")).or_insert_with(|| {
            // Configs name few, and a process reads few configs.
            Box::leak(Box::new(Named { words, config, options, method, promises: OnceLock::new() }))
        }))
    }

    /// The options of the method: names and values.
    pub fn options(self) -> &'static [(String, String)] {
        &self.0.options
    }

    /// The name of the method, its options and what else decides its releases.
    pub fn words(self) -> &'static str {
        &self.0.words
    }

    /// The name, and the options in words, out of what [`Own::words`] gives.
    pub fn named(words: &str) -> (&str, String) {
        let (mut name, mut options) = (words, Vec::new());
        for word in words.split(',') {
            match word.split_once('=') {
                Some(("name", given)) => name = given,
                Some(("files", _)) => {}
                _ => options.push(word),
            }
        }
        (name, options.join(","))
    }

    /// The method as it stands in a config: keys and values of TOML.
    pub fn config(self) -> &'static str {
        &self.0.config
    }

    /// Asks the method what it promises, once. Errors: why it cannot be used.
    pub fn meet(self) -> Result<Promises, String> {
        if let Some(promises) = self.0.promises.get() {
            return Ok(*promises);
        }
        let promises = self.0.method.promises(&self.0.options)?;
        Ok(*self.0.promises.get_or_init(|| promises))
    }

    /// What the method has promised; nothing before [`Own::meet`].
    pub fn promises(self) -> Promises {
        self.0.promises.get().copied().unwrap_or_default()
    }

    /// Prepares a cell: see [`OwnMethod::prepare`]. Errors: also a mechanism that does not say what it pays, or another
    /// that does.
    pub fn prepare(self, task: Task) -> Result<Box<dyn OwnReleases>, String> {
        let releases = self.0.method.prepare(Task { options: self.0.options.clone(), ..task })?;
        match (self.promises().mechanism, releases.pays()) {
            (true, None) => Err("a mechanism says what it pays for a cell, this one does not".into()),
            (false, Some(_)) => Err("it says what it pays, and did not say that it is a mechanism".into()),
            (_, Some(pays)) if !pays.is_possible() => {
                Err("it says that it pays what nobody can: want epsilons >= 0, one at least, and a delta from 0 to 1".into())
            }
            _ => Ok(releases),
        }
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// The methods of the caller, by their names.
static REGISTERED: Mutex<BTreeMap<String, Arc<dyn OwnMethod>>> = Mutex::new(BTreeMap::new());

/// Registers methods for configs that are read from now on: `method = { kind = "external", name = "…" }`. Each takes
/// the place of an earlier one of its name.
pub fn register(methods: impl IntoIterator<Item = (String, Arc<dyn OwnMethod>)>) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).extend(methods);
}

/// A method that was registered. Errors: the names of all that were.
pub fn registered(name: &str) -> Result<Arc<dyn OwnMethod>, Vec<String>> {
    let all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(name).cloned().ok_or_else(|| all.keys().cloned().collect())
}
