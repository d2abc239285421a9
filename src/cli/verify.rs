//! `congenial verify`

use crate::config::{self, Document};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::runner;
use crate::verify::{self, LEVEL, Oracle};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Threads [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let threads = super::run::threads(arguments.threads);
    let plan = match config::load(&arguments.config, &arguments.sets)? {
        Document::Grid(config) => Plan::new(*config)?,
        Document::Worlds(config) => {
            let findings = runner::check_worlds(&config, threads)?;
            let all = || findings.iter().flat_map(|(_, findings)| findings);
            let (number, wrong) =
                (all().count(), all().filter(|finding| finding.claim != finding.holds).count());
            // What the study finds is its result, not an error of the tool.
            return super::print(&format!("{number} statements checked; {wrong} do not hold as claimed\n"));
        }
    };
    let checked = verify::verify(plan, threads)?;
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["law", "epsilon", "method", "options", "releases", "invariant", "oracle", "", "p", ""]);
    for one in &checked {
        let (oracle, figure, p) = match &one.oracle {
            Oracle::None(why) => (why.clone(), String::new(), String::new()),
            Oracle::Method(words, agreement) => (
                format!("{} draws of {words}", agreement.draws.1),
                format!("KS {:.3} of {}", agreement.distance, agreement.comparisons),
                agreement.p_text(),
            ),
            Oracle::Variance(off, error) => {
                ("closed-form variance".into(), format!("off by {off:.4} ± {error:.4}"), String::new())
            }
        };
        let nonnegative = if one.cell.nonnegative { " >= 0" } else { "" };
        table.add_row([
            one.cell.law.name().to_owned(),
            one.cell.epsilon.to_string(),
            format!("{}{nonnegative}", one.cell.method.name()),
            one.cell.method.options(),
            one.releases.to_string(),
            match one.kept {
                None => "not promised".into(),
                Some(kept) if kept == one.releases => "kept".into(),
                Some(kept) => format!("broken by {}", one.releases - kept),
            },
            oracle,
            figure,
            p,
            match (&one.error, one.is_fine()) {
                (Some(error), _) => format!("failed: {error}"),
                (None, true) => "fine".into(),
                (None, false) if one.cell.method.is_chain() => "WRONG, or too few steps".into(),
                (None, false) => "WRONG".into(),
            },
        ]);
    }
    super::print(&format!("{}\n", table.trim_fmt()))?;
    eprintln!(
        "Each method under each law, at its first cell of the grid. p: an approximate bound on the probability of such a \
         two-sample Kolmogorov-Smirnov distance if both are of one law; fine is {LEVEL:e} or more."
    );
    match checked.iter().filter(|one| !one.is_fine()).count() {
        0 => Ok(()),
        wrong => Err(Failure::Wrong(format!("{wrong} of {} methods did not pass", checked.len()))),
    }
}
