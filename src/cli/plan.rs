//! `congenial plan`

use crate::engine;
use crate::failure::Result;
use crate::making;
use crate::page::{self, Page, Table, duration};
use crate::study::{self, Listing};
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
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
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
    if arguments.json {
        let json = making::described(&about, json, &expected);
        return super::print(&(serde_json::to_string_pretty(&json).expect("plain values") + "\n"));
    }
    super::print(&Page::default().table_once(Table::new(1, header, rows)).to_text(page::terminal()))?;
    say!("{told}; config hash {}", about.config_hash);
    expected.fits(&about.name, &folder)
}
