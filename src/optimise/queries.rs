//! The split of a budget over the queries of a tree of tables, level by level.

use super::{Optimised, design, told};
use crate::design::Goal;
use crate::failure::{Failure, Result};
use crate::study::Gridless;

/// The config with the best split of its budget over queries and levels.
///
/// Errors: a study whose budget is not split; its data; noises of which each has a best split of its own; no method that least squares
/// speak of; a share that buys noise out of the law's range.
pub fn queries(config: &dyn Gridless, goal: Goal) -> Result<Optimised> {
    let (splitting, resplit) = config.splitting()?;
    let path = config.path().display().to_string();
    let refused = |e: crate::Error| Failure::Usage(format!("{path}: {e}"));
    let (shares, design) = design("", &splitting, goal).map_err(refused)?;
    let left = (!splitting.beside.is_empty()).then(|| {
        format!(
            "These methods have the shares, too, and do not weigh what is measured as least squares do: {}. What they err by is not \
             said here.",
            splitting.beside.join(", ")
        )
    });
    let config = told::headed(&path, "`gls`", goal, &resplit(&shares));
    Ok(Optimised { goal, designs: vec![design], config, left })
}
