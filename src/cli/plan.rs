//! `congenial plan`

use crate::config::MOST_RELEASES;
use crate::design::Goal;
use crate::engine;
use crate::failure::Result;
use crate::making;
use crate::optimise;
use crate::page::{self, Page, Table, duration, thousands};
use crate::study::{self, Curves, Document, Listing};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Tell how long it will take: draws every cell for a moment, and keeps nothing
    #[arg(long)]
    time: bool,
    /// Also say what releases pay at this delta, by the whole law of their loss
    #[arg(long, value_parser = delta, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// With --delta: what so many releases of a cell pay together
    #[arg(long, value_name = "N", requires = "delta", allow_negative_numbers = true, value_parser = releases())]
    releases: Option<u64>,
    /// Print, instead of the plan, the config with the splits of its budgets, over levels and queries, under which the squared error of
    /// its queries is least: the `mean` over queries of the mean over their answers, or the `largest` of any answer
    #[arg(long, value_name = "mean|largest", conflicts_with_all = ["time", "delta", "releases"], value_parser = goal)]
    optimise: Option<Goal>,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

fn releases() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=MOST_RELEASES)
}

/// Prints the config on standard output, and what it gains on standard error.
fn optimise(arguments: &Arguments, goal: Goal) -> Result<()> {
    let optimised = match study::load(&arguments.config, &arguments.sets)? {
        Document::Grid(configs) => optimise::levels(configs, Vec::new(), goal)?,
        Document::Gridless(config) => optimise::queries(&*config, goal)?,
    };
    if arguments.json {
        let told = optimised.described();
        return super::print(&(serde_json::to_string_pretty(&told).expect("plain values") + "\n"));
    }
    super::print(&optimised.config)?;
    say!("{}", optimised.page().to_text(page::terminal()).trim_end());
    Ok(())
}

fn goal(text: &str) -> std::result::Result<Goal, String> {
    Goal::named(text).map_err(|error| error.to_string())
}

fn delta(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|delta| *delta > 0.0 && *delta < 1.0);
    number.ok_or_else(|| "want a number above 0 and below 1".into())
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(goal) = arguments.optimise {
        return optimise(arguments, goal);
    }
    let planned = study::plan(study::load(&arguments.config, &arguments.sets)?)?;
    // A mistake in the files that a report adds.
    planned.copies()?;
    planned.warning().iter().for_each(|warning| say!("{warning}"));
    let (about, listing) = (planned.about(), planned.listing());
    let Listing { mut header, mut rows, summary, mut json } = listing;
    let threads = super::run::threads(None);
    let expected = engine::estimate(&*planned, threads);
    let folder = making::target(None, &about.name, &about.config_hash);
    let mut told = format!("{summary}{expected}");
    if arguments.time {
        expected.fits(&about.name, &folder)?;
        let costs = engine::measure(&*planned, threads)?;
        let seconds = engine::shards(&*planned, &costs, threads, 1)[0].seconds;
        header.push("time");
        for ((row, cost), unit) in rows.iter_mut().zip(&costs).zip(planned.units()) {
            row.push(match &cost.error {
                None => duration(cost.whole(unit)),
                Some(error) => format!("fails: {error}"),
            });
        }
        told = format!(
            "{summary}{}; about {} on {threads} threads, as the cells were drawn just now (time: of one thread)",
            expected.written(),
            duration(seconds)
        );
        json["measured"] = json!({ "seconds": seconds, "threads": threads, "cells": costs });
    }
    let releases = arguments.releases.unwrap_or(1);
    let curves = arguments.delta.map(|delta| planned.curves(delta, releases)).transpose()?;
    if let Some(curves) = &curves {
        json["curves"] = json!({ "delta": arguments.delta, "releases": releases, "changes": curves.told });
    }
    if arguments.json {
        let json = making::described(&about, json, &expected);
        return super::print(&(serde_json::to_string_pretty(&json).expect("plain values") + "\n"));
    }
    let mut page = Page::default().table_once(Table::new(1, header, rows));
    if let (Some(Curves { table, .. }), Some(delta)) = (curves, arguments.delta) {
        let what = match releases {
            1 => "one release of a cell pays".to_owned(),
            many => format!("{} releases of a cell pay together", thousands(many as f64)),
        };
        page = page.and(Page::headed(format!("What {what} at delta {delta:e}")).table_once(table).text(
            "Charged: pure losses added up, whatever delta; of Gaussian laws what follows from rho. Epsilon: by the whole law of \
             the loss. computed: that of the release; target: that of the law at which a chain aims, without what its distance \
             from it adds; noise: that of free noise, which is moved to the invariant; bounded: no release of this pure loss, or of \
             this rho, pays more. Changes that what is known rules out have no row.",
        ));
    }
    super::print(&page.to_text(page::terminal()))?;
    say!("{told}; config hash {}", about.config_hash);
    expected.fits(&about.name, &folder)
}
