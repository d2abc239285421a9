//! `congenial verify`

use crate::engine::Manner;
use crate::failure::{Failure, Result};
use crate::page::{self, Page, Table};
use crate::study::{self, Document};
use crate::verify::{self, Finding, LEVEL, TOLD};
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
    let manner = Manner {
        threads: super::run::threads(arguments.threads),
        fail_fast: false,
        quiet: false,
        watch: None,
    };
    let configs = match study::load(&arguments.config, &arguments.sets)? {
        Document::Grid(configs) => configs,
        Document::Gridless(config) => return super::print(&format!("{}\n", config.verify(manner)?)),
    };
    let (mut checked, mut rows) = (Vec::new(), Vec::new());
    let named = configs.len() > 1;
    for plan in study::settled(configs, Vec::new())? {
        let data = named.then(|| plan.config.data_name.clone());
        for one in verify::verify(plan, manner)? {
            rows.push(data.iter().cloned().chain(one.told()).collect());
            checked.push(one);
        }
    }
    let header: Vec<&str> = named.then_some("data").into_iter().chain(TOLD).collect();
    super::print(&Page::default().table_once(Table::new(3, header, rows)).to_text(page::terminal()))?;
    for one in &checked {
        let words = one.cell.words();
        if let Some(error) = &one.error {
            say!("- {words}: {error}");
        }
        for system in &one.computed {
            let on = format!("- {words}, {}", system.name);
            if let Some(broken) = &system.broken {
                say!("{on}: {broken}");
            }
            let all = system.comparisons.iter().flatten();
            for wrong in
                all.filter(|one| one.p * system.comparisons.as_ref().map_or(1, Vec::len) as f64 <= LEVEL)
            {
                say!("{on}: {}: {} (p <= {:.0e})", wrong.what, wrong.figure, wrong.p);
            }
        }
        if one.finding() == Finding::NotCompared {
            let why = one.computed.iter().filter_map(|one| one.comparisons.as_ref().err()).next();
            say!("- {words}: nothing was compared: {}", why.map_or("no oracle is known", String::as_str));
        }
    }
    say!(
        "Each method is drawn under each law, at its first cell of the grid. Against: draws of another method of the same law, \
         or the variance in closed form. A method of your own is drawn again, in other batches, and its law is not \
         compared. Computed laws: the same method on the config's own counts where they are few, and on small systems of \
         the same kind, against laws that are convolved or listed in full, and projections by other algorithms. p: a bound \
         on the probability of such differences if all is right; {LEVEL:e} or more is fine."
    );
    match checked.iter().filter(|one| one.finding() == Finding::Wrong).count() {
        0 => Ok(()),
        wrong => Err(Failure::Wrong(format!("{wrong} of {} methods did not pass", checked.len()))),
    }
}
