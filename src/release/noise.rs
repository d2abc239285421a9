//! The noise of a release: drawn before the data are opened, of a law that does not depend on them.

use super::statement::Statement;
use crate::failure::{Failure, Result};
use crate::invariant::Hierarchy;
use congenial_exact_noise::{Bits, Free, Tree};

/// What draws the noise of a release.
#[derive(Debug)]
pub(super) enum Noise {
    /// By level, the law of each count's own; `None` of a known one.
    Free(Vec<Option<Free>>),
    /// Noise given that all sums hold.
    Conditioned(Box<Tree>),
}

impl Noise {
    /// Prepares the draws. Errors: tables that do not fit.
    pub(super) fn new(conditioned: bool, statement: &Statement, tree: &Hierarchy) -> Result<Self> {
        let laws: Vec<_> = (0..tree.levels()).map(|level| statement.law(level)).collect();
        if !conditioned {
            let free = laws.into_iter().map(|law| law.map(Free::new).transpose());
            return free
                .collect::<congenial_exact_noise::Result<_>>()
                .map(Self::Free)
                .map_err(|e| Failure::Usage(format!("privacy: {e}")));
        }
        let parents: Vec<Option<usize>> =
            (0..tree.nodes()).map(|v| (v > 0).then(|| tree.parent(v))).collect();
        let known: Vec<bool> = (0..tree.nodes()).map(|v| tree.is_known(v)).collect();
        let drawn = Tree::new(&parents, &known, &laws).map_err(|e| {
            let message = format!(
                "privacy.noise: got `conditioned`, and {e}; with noise = \"free\" there is no such limit"
            );
            Failure::Usage(message)
        })?;
        Ok(Self::Conditioned(Box::new(drawn)))
    }

    /// The noise of all nodes; 0 of known ones. Errors: a failing source, after which nothing may be released.
    pub(super) fn draw(&mut self, tree: &Hierarchy, source: &mut dyn Bits) -> Result<Vec<i64>> {
        let refused =
            |e: congenial_exact_noise::Error| Failure::Wrong(format!("the noise: {e}; nothing is released"));
        let laws = match self {
            Self::Conditioned(drawn) => return drawn.draw(source).map_err(refused),
            Self::Free(laws) => laws,
        };
        let mut noise = vec![0i64; tree.nodes()];
        for (level, law) in laws.iter().enumerate() {
            let Some(law) = law else { continue };
            for v in tree.level_nodes(level).filter(|&v| !tree.is_known(v)) {
                noise[v] = law.draw(source).map_err(refused)?;
            }
        }
        Ok(noise)
    }
}
