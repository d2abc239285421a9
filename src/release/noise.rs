//! The noise of a release: drawn before the data are opened, of a law that does not depend on them.

use super::config::Privacy;
use super::statement::Statement;
use crate::failure::{Failure, Result};
use crate::invariant::Hierarchy;
use congenial_exact_noise::{Bits, Free, Tree};

/// The noise of all nodes; 0 of known ones. Errors: tables that do not fit; a failing source, after which nothing may be released.
pub(super) fn draw(
    privacy: &Privacy,
    statement: &Statement,
    tree: &Hierarchy,
    source: &mut dyn Bits,
) -> Result<Vec<i64>> {
    let refused =
        |e: congenial_exact_noise::Error| Failure::Wrong(format!("the noise: {e}; nothing is released"));
    if privacy.conditioned {
        return tree_noise(statement, tree)?.draw(source).map_err(refused);
    }
    let mut noise = vec![0i64; tree.nodes()];
    for level in 0..tree.levels() {
        let Some(law) = statement.law(level) else { continue };
        let law = Free::new(law).map_err(refused)?;
        for v in tree.level_nodes(level).filter(|&v| !tree.is_known(v)) {
            noise[v] = law.draw(source).map_err(refused)?;
        }
    }
    Ok(noise)
}

/// What draws conditioned noise. Errors: tables that do not fit.
pub(super) fn tree_noise(statement: &Statement, tree: &Hierarchy) -> Result<Tree> {
    let parents: Vec<Option<usize>> = (0..tree.nodes()).map(|v| (v > 0).then(|| tree.parent(v))).collect();
    let known: Vec<bool> = (0..tree.nodes()).map(|v| tree.is_known(v)).collect();
    let laws: Vec<_> = (0..tree.levels()).map(|level| statement.law(level)).collect();
    Tree::new(&parents, &known, &laws).map_err(|e| {
        let message = format!(
            "privacy.noise: got `conditioned`, and {e}; with noise = \"free\" there is no such limit"
        );
        Failure::Usage(message)
    })
}
