//! Keys: hashes of what a cell or a plan is.

use super::{Cell, Plan};
use crate::config::{AXES, DEFAULT_STUDY};
use crate::hash;
use crate::input::Subject;

/// The key of a cell: the first 64 bits of the SHA-256 of a line of text that says what the cell is. Numbers are
/// written with the fewest digits that give them back. The data enter by their own digest; the master seed where a
/// config has several.
pub(super) fn cell(cell: &Cell, subject: &Subject) -> u64 {
    let seed = if cell.seeded { format!(" seed={}", cell.at.seed) } else { String::new() };
    hash::word(&(text(cell, subject) + &seed))
}

/// The key of its streams: of what the cell is, whatever the seed.
pub(super) fn streams(cell: &Cell, subject: &Subject) -> u64 {
    hash::word(&text(cell, subject))
}

fn text(cell: &Cell, subject: &Subject) -> String {
    let at = &cell.at;
    let lag = at.lag.map_or(String::new(), |lag| format!(" meeting lag={lag}"));
    format!(
        "{} data={} {} method={} nonnegative={} {}{lag}",
        subject.name(),
        subject.digest(),
        noise(cell),
        at.method.name(),
        at.method.nonnegative(),
        at.method.options(),
    )
}

/// Its noise: equal words, equal noise on the same counts.
pub(super) fn noise(cell: &Cell) -> String {
    let axes = AXES.iter().filter_map(|axis| (axis.key)(&cell.at)).map(|words| format!(" {words}"));
    format!("epsilon={:?}{}", cell.epsilon, axes.collect::<String>())
}

/// The key of a plan.
pub(super) fn plan(plan: &Plan) -> u64 {
    let seeds: Vec<String> = plan.config.seeds.iter().map(u64::to_string).collect();
    let mut text = format!("name={} seed={}\n", plan.config.name, seeds.join(","));
    if !plan.config.data_name.is_empty() {
        text += &format!("data={}\n", plan.config.data_name);
    }
    if plan.config.study != DEFAULT_STUDY {
        text += &format!("study={}\n", plan.config.study);
    }
    // Cells of a table are named in the results.
    if let Subject::Table(table) = &plan.subject {
        text += &format!("names={:016x}\n", hash::word(&format!("{:?}", table.names)));
    }
    text += &plan.part_key;
    for cell in &plan.cells {
        text += &format!("{} replicates={}", cell.key_text(), cell.replicates);
        if let Some(paid) = cell.paid {
            text += &format!(" paid={}", paid.exact());
        }
        text += &cell.part.key(&cell.at);
        text += "\n";
    }
    hash::word(&text)
}
