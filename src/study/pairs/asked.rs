//! What is asked of the chains of a cell: coupled pairs, groups that share weights, the marginals of many.

use crate::catalogue::{LawKind, Method, Place};
use crate::config::{CellPart, Point};
use std::fmt::Write;
use std::sync::Arc;

/// Coupled pairs of a chain, by which releases certify it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// Pairs of every lag.
    pub pairs: u64,
    /// Lags; not empty.
    pub lag: Vec<u64>,
    /// Steps after which a pair is cut short.
    pub max_steps: u64,
}

/// What a study of meetings asks of its cells, beside the lags of their pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meetings {
    /// Steps after which a coupled pair is cut short.
    pub max_steps: u64,
    /// Chains and steps for the comparison of marginals, if any.
    pub marginals: Option<(u64, u64)>,
    /// Groups of chains with weights, if any.
    pub harmonized: Option<Groups>,
}

/// How many chains share weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Groups.
    pub groups: u64,
    /// Chains of each.
    pub chains: u64,
    /// Steps after which a group is left.
    pub steps: u64,
}

impl CellPart for Meetings {
    fn serves(&self, method: Method, law: LawKind, place: Place, lagged: bool) -> Result<(), String> {
        let harmonized = self.harmonized.is_some();
        if lagged || harmonized {
            (method.facts().couples)(law).map_err(|why| {
                format!("{why}: leave out `lag` and `harmonized-groups`, and ask for `marginal-chains`")
            })?;
        }
        if self.marginals.is_some() {
            method.is_drawn_exactly(law, place).map_err(|why| {
                format!(
                    "`marginal-chains` compares with exact draws, and there are none ({why}): leave it out"
                )
            })?;
        }
        let moved = match place {
            Place::Tree { inequalities } => inequalities || method.nonnegative(),
            Place::Table { inequalities } => inequalities && !method.kind().facts().starts_within,
        };
        if harmonized && moved {
            return Err("under inequalities its starts are moved into them, so that their law, and with it the weight of a chain, is \
                        not known: leave out `harmonized-groups`"
                .into());
        }
        Ok(())
    }

    fn key(&self, _: &Point) -> String {
        let mut text = format!(" max-steps={} marginals={:?}", self.max_steps, self.marginals);
        if let Some(Groups { groups, chains, steps }) = self.harmonized {
            // The words of keys of earlier versions.
            write!(text, " Harmonized {{ groups: {groups}, chains: {chains}, steps: {steps} }}")
                .expect("memory");
        }
        text
    }

    fn lines(&self, at: &Point) -> String {
        let mut text = String::new();
        if let Some(lag) = at.lag {
            text += &format!("lag = {lag}\nmax-steps = {}\n", self.max_steps);
        }
        if let Some((chains, steps)) = self.marginals {
            text += &format!("marginal-chains = {chains}\nmarginal-steps = {steps}\n");
        }
        if let Some(Groups { groups, chains, steps }) = self.harmonized {
            text += &format!("harmonized-groups = {groups}\nharmonized-chains = {chains}\n");
            text += &format!("harmonized-steps = {steps}\n");
        }
        text
    }

    fn max_steps(&self) -> Option<u64> {
        Some(self.max_steps)
    }

    /// Takes up the chains and groups of the other.
    fn with(&self, other: &dyn CellPart) -> Option<Arc<dyn CellPart>> {
        let other = other.as_own::<Self>()?;
        let mut all = *self;
        if let (Some((chains, _)), Some((more, _))) = (&mut all.marginals, other.marginals) {
            *chains += more;
        }
        if let (Some(all), Some(more)) = (&mut all.harmonized, other.harmonized) {
            all.groups += more.groups;
        }
        Some(Arc::new(all))
    }
}
