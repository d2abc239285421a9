//! What releases pay.

use super::CertificateRow;
use super::errors::LevelRow;
use crate::failure::Result;
use crate::page::{Page, Table};
use crate::privacy::{Change, ChangeKind};
use crate::study::cells::{CellRow, statement_words, statements};
use crate::study::tell::records::{FAILED, Named};
use std::collections::HashMap;

/// What sampling adds to delta, below which a statement is silent.
const NEGLIGIBLE: f64 = 1e-9;

/// What a cell pays, in the words of the table.
type Pays = [String; 7];

/// The columns of what is paid, after noise and methods.
const PAYS: [&str; 7] = [
    "record added or removed",
    "record moved",
    "smallest change",
    "delta",
    "gamma, any change",
    "TV of sampling",
    "delta of sampling",
];

/// What they show.
const NOTE: &str = "What the worst place pays for one change of the confidential table: epsilon of the noise, and what \
    conditioning on inequalities makes of it. A record counts once on every level of a hierarchy. gamma, any change: what \
    conditioning on inequalities may add to changes of every length, times their epsilon; of a change in the columns \
    before it can be less (Theorem 2.1 of \"Congenial differential privacy\"; Gaussian laws: through rho). TV of \
    sampling: the total variation distance of a draw to its law; of a chain by coupled pairs of the largest lag, the \
    upper limit at 95 % (beside it, what the pairs gave), which assumes that no pair is slower than the slowest one seen. \
    delta of sampling: (1 + e^((1 + gamma) epsilon)) times that, for the change of those shown that pays most.";

/// What every cell of some runs pays.
pub(super) fn pages(runs: &[Named]) -> Result<Page> {
    // Methods that pay the same for the same noise stand in one row.
    let mut body: Vec<Paid> = Vec::new();
    let (mut unknown, mut impossible) = (Vec::new(), Vec::new());
    for run in runs {
        let mut certificates = HashMap::new();
        run.run.each(|row: CertificateRow| {
            certificates.insert(row.cell, row);
            Ok(())
        })?;
        let statements = statements(&run.run)?;
        run.printed_failed().for_each(|cell| add(&mut body, cell, PAYS.map(|_| FAILED.to_owned())));
        for (cell, _) in run.by_cell(|row: &LevelRow| row.cell)? {
            let certificate = certificates.get(&cell.cell);
            if let Some(row) = certificate.filter(|row| !row.unknown.is_empty()) {
                unknown.push(format!("{}: {}", cell.words(), row.unknown));
            }
            let changes = statements.get(&cell.cell).map_or(&[][..], Vec::as_slice);
            add(&mut body, cell, pays(cell, certificate, changes, &mut impossible));
        }
    }
    if body.is_empty() {
        return Ok(Page::default());
    }
    let page = Page::main("What a release pays").list([statements_by_noise(&body), impossible].concat());
    let line = |(noise, methods, pays): Paid| [&[noise, methods.join(", ")][..], &pays].concat();
    let header = ["noise", "methods"].into_iter().chain(PAYS);
    let table = Table::new(2, header, body.into_iter().map(line).collect());
    let page = page.and(Page::headed("What a release pays, method by method")).table_once(table).text(NOTE);
    let why = if unknown.is_empty() { "" } else { "Unknown:" };
    Ok(page.text(why).list(unknown))
}

/// What a cell pays. `impossible`: why some changes are.
fn pays(
    cell: &CellRow,
    certificate: Option<&CertificateRow>,
    changes: &[(ChangeKind, Change)],
    impossible: &mut Vec<String>,
) -> Pays {
    let [added, moved, smallest] = statement_words(changes, impossible);
    if !cell.law.is_noise() {
        let [delta, gamma, sampling, more] = [(); 4].map(|()| "-".to_owned());
        return [added, moved, smallest, delta, gamma, sampling, more];
    }
    let eta = cell.tv_error.or(certificate.and_then(|row| row.bound_high));
    let prices = changes.iter().filter_map(|(_, change)| change.price());
    let deltas: Option<Vec<f64>> = prices.map(|price| price.sampling_delta(eta?)).collect();
    let delta_sampling = match eta {
        Some(0.0) => Some(0.0),
        _ => deltas.and_then(|deltas| deltas.into_iter().reduce(f64::max)),
    };
    let CellRow { delta_total, gamma, gamma_known, .. } = cell;
    let how = if gamma_known == "bounded" { "at most " } else { "" };
    [
        added,
        moved,
        smallest,
        if *delta_total == 0.0 { "0".into() } else { format!("{delta_total:e}") },
        match gamma {
            Some(gamma) if *gamma == 0.0 => format!("0 ({gamma_known})"),
            Some(gamma) => format!("{how}{gamma:.6} ({gamma_known})"),
            None => "unknown".into(),
        },
        match (cell.tv_error, certificate) {
            (Some(0.0), _) => "0".into(),
            (Some(error), _) => format!("{error:.1e}"),
            (None, Some(row)) => row.words(),
            (None, None) => "unknown".into(),
        },
        match (delta_sampling, certificate) {
            (Some(0.0), _) => "0".into(),
            (Some(delta), None) => format!("{delta:.1e}"),
            (Some(delta), Some(_)) => format!("<= {delta:.1e}"),
            (None, _) => "unknown".into(),
        },
    ]
}

/// Noise, methods, and what they pay.
type Paid = (String, Vec<String>, Pays);

/// Adds what a cell pays to the methods that pay the same.
fn add(body: &mut Vec<Paid>, cell: &CellRow, pays: Pays) {
    let noise = cell.noise_words();
    match body.iter_mut().find(|(other, _, same)| *other == noise && *same == pays) {
        // Of several data sets or seeds once.
        Some((_, methods, _)) if methods.contains(&cell.method_words()) => {}
        Some((_, methods, _)) => methods.push(cell.method_words()),
        None => body.push((noise, vec![cell.method_words()], pays)),
    }
}

/// What changes of one record pay: a line for each noise, or some if its methods pay otherwise. `paid`: noise, methods, and what they pay
/// for a record that is added, one that is moved, and the smallest change, first; what sampling adds to delta, last.
fn statements_by_noise(paid: &[Paid]) -> Vec<String> {
    let mut kinds: Vec<(&str, [&str; 4], Vec<&str>)> = Vec::new();
    for (noise, methods, pays) in paid.iter().filter(|(.., pays)| pays[0] != FAILED) {
        let methods = methods.iter().map(String::as_str);
        let [added, moved, smallest, .., sampling] = pays;
        // What exact sampling adds is in the table.
        let is_nothing = sampling == "-" || sampling.parse().is_ok_and(|delta: f64| delta < NEGLIGIBLE);
        let sampling = if is_nothing { "" } else { sampling };
        let pays = [added, moved, smallest, sampling];
        match kinds.iter_mut().find(|(other, same, _)| other == noise && *same == pays) {
            Some((.., all)) => {
                let more: Vec<&str> = methods.filter(|method| !all.contains(method)).collect();
                all.extend(more);
            }
            None => kinds.push((noise, pays, methods.collect())),
        }
    }
    let line = |(noise, [added, moved, smallest, sampling], methods): &(&str, [&str; 4], Vec<&str>)| {
        let alone = kinds.iter().filter(|(other, ..)| other == noise).count() == 1;
        let whose = if alone { String::new() } else { format!(" ({})", methods.join(", ")) };
        let sampling = match *sampling {
            "" => String::new(),
            known => format!("; what sampling adds to delta: {known}"),
        };
        format!(
            "{noise}{whose}: record added or removed: {added}; record moved: {moved}; smallest change: {smallest}{sampling}"
        )
    };
    kinds.iter().map(line).collect()
}
