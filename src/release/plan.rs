//! What a release will pay and how wide its intervals will be, before anything is opened that is confidential.

use super::certificate::PLACES;
use super::config::{Config, change};
use super::foreseen::Foreseen;
use crate::failure::Result;
use crate::page::{Page, Table, line, thousands};

/// The page of a plan. Errors: the config, the list of leaves.
pub fn plan(config: &Config) -> Result<Page> {
    let Foreseen { domain, statement, halves, .. } = Foreseen::new(config)?;
    let (tree, privacy) = (&domain.tree, &config.privacy);
    let measure = if statement.is_rho { "rho" } else { "epsilon" };
    let each = if privacy.records == 1 {
        "1 record".into()
    } else {
        format!("{} records", thousands(privacy.records as f64))
    };
    let asked = privacy.loss.rounded_up(PLACES);
    let unit = statement.unit().rounded_up(PLACES);
    let head = Page::headed(format!("{}: what it pays", line(&config.product.name)))
        .text(format!(
            "One unit, {each} at most, is {}. That may shift what is published by {measure} {unit} at most ({asked} was asked for): \
             rounded up, by exact noise of {}, {}.",
            change(privacy.protects),
            privacy.law.name(),
            if privacy.conditioned { "given that all sums hold" } else { "free" }
        ))
        .text("No data were opened, nothing was drawn, nothing was booked.");
    let level = |l: usize| {
        let name = [line(config.level(l)).into_owned(), thousands(tree.level_nodes(l).len() as f64)];
        let noise = match statement.law(l) {
            None => ["known".to_owned(), String::new()],
            Some(_) => {
                [format!("{:.3}", statement.scale(l)), format!("{:.2}", statement.deviation(privacy.law, l))]
            }
        };
        let mean = |halves: &Vec<f64>| {
            let own = tree.level_nodes(l);
            let mean = halves[own.clone()].iter().sum::<f64>() / own.len() as f64;
            if statement.law(l).is_some() { format!("{mean:.1}") } else { String::new() }
        };
        name.into_iter().chain(noise).chain(halves.as_ref().map(mean)).collect()
    };
    let scale = if statement.is_rho { "sigma" } else { "lambda" };
    let interval = config.publish.intervals.filter(|_| halves.is_some());
    let columns = ["level", "counts", scale, "standard deviation\nof a noisy count"];
    let interval = interval.map(|held| format!("{} % interval\n+-, on average", 100.0 * held));
    let header: Vec<String> = columns.map(str::to_owned).into_iter().chain(interval).collect();
    let table = Table::new(1, header, (0..tree.levels()).map(level).collect());
    let records =
        [1u64, 2, 10].map(|n| vec![thousands(n as f64), statement.of_records(n).rounded_up(PLACES)]).to_vec();
    let pays = Table::new(1, ["records changed", measure], records);
    Ok(head.and(Page::main("Noise").table(table)).and(Page::main("What a change pays at most").table(pays)))
}
