//! How the axes are read that a block may leave out.

use super::super::checker::{Checker, Shown};
use super::super::nearest::one_of;
use super::super::split::SplitSpec;
use super::super::values::WireSplit;
use super::Valued;
use crate::catalogue::LawKind;
use crate::failure::Result;
use std::ops::Range;

/// What the values of an axis may depend on.
#[derive(Debug)]
pub struct Here<'a> {
    /// Master seeds of the config.
    pub seeds: &'a [u64],
    /// Its data sets.
    pub data: &'a [String],
    /// Whether the entries of a table are released.
    pub on_table: bool,
    /// Laws of the block.
    pub law: &'a [LawKind],
    /// Their place.
    pub law_span: Range<usize>,
}

impl Here<'_> {
    /// Whether a law of the block has a delta.
    pub fn needs_delta(&self) -> bool {
        self.law.iter().any(|law| law.needs_delta())
    }

    /// Errors: a block without noise, which may not say what noise is.
    fn has_noise(&self, checker: &Checker, key: &str, span: Range<usize>) -> Result<()> {
        match self.law.iter().any(|law| law.is_noise()) {
            true => Ok(()),
            false => Err(checker.error(format!("{key}: not used"), span, "the law none is no noise")),
        }
    }
}

/// An axis that a block may leave out.
pub trait Optional {
    /// A value in a file.
    type Wire;
    /// A value that was checked.
    type Value: Shown + Valued + Clone + PartialEq;
    /// A value. `key`: where it stands. Errors: what is none.
    fn value(checker: &Checker, key: &str, wire: &Self::Wire, span: Range<usize>) -> Result<Self::Value>;
    /// The values of a block that names none. Errors: it must.
    fn default(checker: &Checker, here: &Here) -> Result<Vec<Self::Value>>;
    /// Errors: why a block may not name values.
    fn refused(_checker: &Checker, _here: &Here, _span: Range<usize>) -> Result<()> {
        Ok(())
    }
    /// Errors: a value that the config does not have.
    fn known(_checker: &Checker, _here: &Here, _value: &Self::Value, _span: Range<usize>) -> Result<()> {
        Ok(())
    }
}

/// Probabilities by which a Gaussian law may pay more.
pub struct Delta;

impl Optional for Delta {
    type Wire = f64;
    type Value = f64;
    fn value(checker: &Checker, key: &str, &x: &f64, span: Range<usize>) -> Result<f64> {
        checker.probability(key, x, span)
    }
    fn default(checker: &Checker, here: &Here) -> Result<Vec<f64>> {
        if here.needs_delta() {
            let label = "Gaussian laws need `delta` in the same block";
            return Err(checker.error("delta: missing", here.law_span.clone(), label));
        }
        Ok(Vec::new())
    }
    fn refused(checker: &Checker, here: &Here, span: Range<usize>) -> Result<()> {
        match here.needs_delta() {
            true => Ok(()),
            false => Err(checker.error("delta: not used", span, "only Gaussian laws take a delta")),
        }
    }
}

/// What one change does to the counts of a level.
pub struct Sensitivity;

impl Optional for Sensitivity {
    type Wire = f64;
    type Value = f64;
    fn value(checker: &Checker, key: &str, &x: &f64, span: Range<usize>) -> Result<f64> {
        checker.positive(key, x, span)
    }
    fn default(_: &Checker, _: &Here) -> Result<Vec<f64>> {
        Ok(vec![1.0])
    }
    fn refused(checker: &Checker, here: &Here, span: Range<usize>) -> Result<()> {
        here.has_noise(checker, "sensitivity", span)
    }
}

/// How the budget is split over levels.
pub struct Split;

impl Optional for Split {
    type Wire = WireSplit;
    type Value = SplitSpec;
    fn value(checker: &Checker, key: &str, wire: &WireSplit, span: Range<usize>) -> Result<SplitSpec> {
        match wire {
            WireSplit::Name(name) if name == "each" => Ok(SplitSpec::Each),
            WireSplit::Name(name) if name == "even" => Ok(SplitSpec::Even),
            WireSplit::Name(name) => {
                let label = "want each, even or a list of shares";
                Err(checker.error(format!("{key}: got `{name}`"), span, label))
            }
            WireSplit::Shares(shares) => {
                shares
                    .iter()
                    .try_for_each(|&share| checker.positive(key, share, span.clone()).map(|_| ()))?;
                Ok(SplitSpec::Shares(shares.clone()))
            }
        }
    }
    fn default(_: &Checker, _: &Here) -> Result<Vec<SplitSpec>> {
        Ok(vec![SplitSpec::Each])
    }
    fn refused(checker: &Checker, here: &Here, span: Range<usize>) -> Result<()> {
        match here.on_table {
            true => Err(checker.error("split: not used", span, "a table has one level")),
            false => here.has_noise(checker, "split", span),
        }
    }
}

/// Master seeds.
pub struct Seed;

impl Optional for Seed {
    type Wire = u64;
    type Value = u64;
    fn value(_: &Checker, _: &str, &seed: &u64, _: Range<usize>) -> Result<u64> {
        Ok(seed)
    }
    fn default(_: &Checker, here: &Here) -> Result<Vec<u64>> {
        Ok(here.seeds.to_vec())
    }
    fn known(checker: &Checker, here: &Here, seed: &u64, span: Range<usize>) -> Result<()> {
        match here.seeds.contains(seed) {
            true => Ok(()),
            false => Err(checker.error(format!("seed: got {seed}"), span, "want seeds of the config")),
        }
    }
}

/// Data sets.
pub struct Data;

impl Optional for Data {
    type Wire = String;
    type Value = String;
    fn value(_: &Checker, _: &str, name: &String, _: Range<usize>) -> Result<String> {
        Ok(name.clone())
    }
    fn default(_: &Checker, here: &Here) -> Result<Vec<String>> {
        Ok(here.data.to_vec())
    }
    fn known(checker: &Checker, here: &Here, name: &String, span: Range<usize>) -> Result<()> {
        if here.data.contains(name) {
            return Ok(());
        }
        let names: Vec<&str> = here.data.iter().map(String::as_str).collect();
        let label = match names[..] {
            [""] => "the data set has no `name`".into(),
            _ => one_of(name, &names),
        };
        Err(checker.error(format!("data: got `{name}`"), span, label))
    }
}
