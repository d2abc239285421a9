//! `congenial plan`

use crate::config::{self, Document};
use crate::failure::Result;
use crate::grid::Plan;
use crate::worlds::Settings;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let plan = match config::load(&arguments.config, &arguments.sets)? {
        Document::Grid(config) => Plan::new(*config)?,
        Document::Worlds(config) if arguments.json => {
            let settings = config.settings.iter().map(|Settings { worlds, cases, epsilon }| {
                json!({ "worlds": worlds, "cases": cases, "epsilon": epsilon })
            });
            return print_json(&json!({
                "name": config.name,
                "study": "composition",
                "seed": config.seed,
                "config_hash": config.hash(),
                "settings": settings.collect::<Vec<_>>(),
            }));
        }
        Document::Worlds(config) => {
            table.set_header(["worlds", "cases of a statement", "epsilon"]);
            for Settings { worlds, cases, epsilon } in &config.settings {
                table.add_row([worlds.to_string(), cases.to_string(), epsilon.to_string()]);
            }
            super::print(&format!("{}\n", table.trim_fmt()))?;
            eprintln!("{} settings; config hash {}", config.settings.len(), config.hash());
            return Ok(());
        }
    };
    if arguments.json {
        return print_json(&described(&plan));
    }
    table.set_header([
        "cell",
        "law",
        "epsilon",
        "split",
        "scales",
        "method",
        "options",
        "replicates",
        "pays",
    ]);
    for cell in &plan.cells {
        let scales: Vec<String> = cell.calibration.scales.iter().map(|scale| format!("{scale:.4}")).collect();
        let sign = if cell.nonnegative { " >= 0" } else { "" };
        let delta = if cell.calibration.delta > 0.0 {
            format!(", {:e}", cell.calibration.delta)
        } else {
            String::new()
        };
        table.add_row([
            cell.key_text(),
            cell.law.name().into(),
            cell.epsilon.to_string(),
            cell.split.label(),
            scales.join(" "),
            format!("{}{sign}", cell.method.name()),
            match cell.lag {
                Some(lag) => format!("{} lag={lag}", cell.method.options()).trim_start().to_owned(),
                None => cell.method.options(),
            },
            cell.replicates.to_string(),
            format!("{:.4}{delta}", cell.calibration.epsilon),
        ]);
    }
    super::print(&format!("{}\n", table.trim_fmt()))?;
    eprintln!("{} cells on {}; config hash {}", plan.cells.len(), plan.subject.summary(), plan.hash());
    Ok(())
}

/// Everything that the table says, and what a run of the plan would be named.
fn described(plan: &Plan) -> Value {
    let cells = plan.cells.iter().map(|cell| {
        json!({
            "cell": cell.key_text(),
            "law": cell.law.name(),
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "sensitivity": cell.sensitivity,
            "split": cell.split.label(),
            "scales": cell.calibration.scales,
            "method": cell.method.name(),
            "options": cell.method.options(),
            "nonnegative": cell.nonnegative,
            "lag": cell.lag,
            "replicates": cell.replicates,
            "epsilon_total": cell.calibration.epsilon,
            "delta_total": cell.calibration.delta,
        })
    });
    let hash = plan.hash();
    json!({
        "name": plan.config.name,
        "study": plan.config.study.name(),
        "subject": plan.subject.name(),
        "seed": plan.config.seed,
        "config_hash": hash,
        "data_digest": plan.subject.digest(),
        "folder": super::run::target(None, &plan.config.name, &hash),
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn print_json(value: &Value) -> Result<()> {
    super::print(&(serde_json::to_string_pretty(value).expect("plain values") + "\n"))
}
