//! `congenial verify`

use crate::engine::Manner;
use crate::failure::{Failure, Result};
use crate::page::{self, Page};
use crate::study::composition;
use crate::study::{self, Document};
use crate::verify::{self, Finding, LEVEL, OnSystem, Oracle};
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
    let manner = Manner { threads, fail_fast: false, quiet: false };
    let configs = match study::load(&arguments.config, &arguments.sets)? {
        Document::Grid(configs) => configs,
        Document::Worlds(config) => {
            let (number, wrong) = composition::verify(config, manner)?;
            // What the study finds is its result, not an error of the tool.
            return super::print(&format!("{number} statements checked; {wrong} do not hold as claimed\n"));
        }
    };
    let (mut checked, mut data) = (Vec::new(), Vec::new());
    for config in configs {
        let name = config.data_name.clone();
        let found = verify::verify(study::settled(config)?, threads)?;
        data.extend(found.iter().map(|_| name.clone()));
        checked.extend(found);
    }
    let named = data.iter().any(|name| !name.is_empty());
    let mut rows = Vec::new();
    for (one, data) in checked.iter().zip(data) {
        let (oracle, p) = match &one.oracle {
            Oracle::None(_) => ("-".to_owned(), "-".to_owned()),
            Oracle::Method(words, agreement) => (words.clone(), agreement.p_text()),
            Oracle::Again(same) => {
                (if *same { "again: same" } else { "again: others" }.to_owned(), String::new())
            }
            Oracle::Variance(off, error) => {
                (format!("variance: off by {off:.3} ± {error:.3}"), String::new())
            }
        };
        let computed: Vec<f64> = one.computed.iter().filter_map(OnSystem::p).collect();
        let least = computed.iter().copied().min_by(f64::total_cmp);
        let nonnegative = if one.cell.nonnegative { " >= 0" } else { "" };
        let (name, options) = one.cell.method.title();
        let row = vec![
            one.cell.law.name().to_owned(),
            one.cell.epsilon.to_string(),
            format!("{name}{nonnegative} {options}").trim().to_owned(),
            one.releases.to_string(),
            match one.kept {
                None => "not promised".into(),
                Some(kept) if kept == one.releases => "kept".into(),
                Some(kept) => format!("broken by {}", one.releases - kept),
            },
            oracle,
            p,
            format!("{} of {}", computed.len(), one.computed.len()),
            least.map_or("-".into(), |p| if p >= 0.9995 { "1".into() } else { format!("{p:.1e}") }),
            match one.finding() {
                Finding::Fine => "fine".into(),
                Finding::NotCompared => "not compared".into(),
                Finding::Wrong if one.error.is_some() => "failed".into(),
                Finding::Wrong if one.cell.method.is_chain() => "WRONG, or too few steps".into(),
                Finding::Wrong => "WRONG".into(),
            },
        ];
        rows.push(named.then_some(data).into_iter().chain(row).collect());
    }
    let header = [
        "law",
        "epsilon",
        "method",
        "releases",
        "invariant",
        "against",
        "p",
        "computed laws",
        "least p",
        "finding",
    ];
    let header: Vec<&str> = named.then_some("data").into_iter().chain(header).collect();
    super::print(&Page::default().table_once(3, header, rows).to_text(page::terminal()))?;
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
        "Each method under each law, at its first cell of the grid. Against: draws of another method of the same law, or the \
         variance in closed form; a method that is not ours is drawn again, in other batches. Computed laws: the same method on the config's own counts where they are few, and on small \
         systems of the same kind, against laws that are convolved or listed in full, and projections by other algorithms. p: a \
         bound on the probability of such differences if all is right; fine is {LEVEL:e} or more."
    );
    match checked.iter().filter(|one| one.finding() == Finding::Wrong).count() {
        0 => Ok(()),
        wrong => Err(Failure::Wrong(format!("{wrong} of {} methods did not pass", checked.len()))),
    }
}
