//! The page of a certificate, in plain words.

use super::certificate::{Certificate, Level};
use super::config::Product;
use crate::page::{Page, Table, line, thousands};

/// The page.
pub(super) fn page(certificate: &Certificate, product: &Product) -> Page {
    let issued = &certificate.issued;
    let about = Page::headed(line(&product.name).into_owned())
        .text(format!(
            "{} releases these counts with noise, which bounds how much they can tell of one unit ({}). Intended use: {}.",
            line(&product.curator),
            line(&issued.unit),
            line(&product.intended_use)
        ))
        .text(product.description.as_deref().map(|text| line(text).into_owned()).unwrap_or_default());
    about.and(protected(certificate)).and(exact(certificate)).and(noise(certificate)).and(files(certificate))
}

fn protected(certificate: &Certificate) -> Page {
    let (pays, unit) = (&certificate.pays, line(&certificate.issued.unit).into_owned());
    let records = certificate.records_per_unit;
    let each =
        if records == 1 { "1 record".to_owned() } else { format!("{} records", thousands(records as f64)) };
    let change = match &*certificate.protects {
        "added" => format!("{unit} is added or left out: at most {each}"),
        _ => format!("{unit} is moved to other leaves of the list: at most {each}"),
    };
    let measure = match &*pays.measure {
        "rho" => "rho of zero-concentrated differential privacy",
        _ => "epsilon of pure differential privacy",
    };
    let row = |what: &str, loss: &String| vec![what.to_owned(), loss.clone()];
    let mut rows = vec![row("the protected change", &pays.unit)];
    rows.extend(
        ["1 record", "2 records", "10 records"].iter().zip(&pays.records).map(|(what, loss)| row(what, loss)),
    );
    let before = match &*before(certificate) {
        "" => String::new(),
        words => format!("{words} So a change is protected if it leaves those as they are, too."),
    };
    Page::main("What is protected")
        .text(format!(
            "The change: {change}. The figures below say how much it can shift what is published, as {measure}, rounded up. They \
             hold against everybody who has these files alone, whatever else they know."
        ))
        .table(Table::new(1, ["change of", "pays at most"], rows))
        .text(before)
        .text(
            "Not protected: what many units have in common; the confidential table from whoever runs the program or can read the \
             machine's memory; other releases from the same data, which the ledger adds up.",
        )
}

fn exact(certificate: &Certificate) -> Page {
    let words = match &*certificate.known() {
        "" => "Nothing by this release: every count has noise.".to_owned(),
        known => {
            format!(
                "The counts of {}. They are released as they are, and nothing protects them.",
                line(known)
            )
        }
    };
    Page::main("What is disclosed exactly").text(words).text(before(certificate))
}

/// What releases before it gave exactly, in words; empty if nothing more than this one.
fn before(certificate: &Certificate) -> String {
    match &*line(&certificate.issued.known_before.join("; ")) {
        "" => String::new(),
        names => format!("Releases before this one gave counts by {names} exactly."),
    }
}

fn noise(certificate: &Certificate) -> Page {
    let scale = if certificate.pays.measure == "rho" { "sigma" } else { "lambda" };
    let row = |level: &Level| {
        let (q, scale) = match (level.mantissa, level.scale) {
            (Some(mantissa), Some(scale)) => (format!("{mantissa} / 2^48"), format!("{scale:.6}")),
            _ => ("known".to_owned(), String::new()),
        };
        vec![line(&level.level).into_owned(), thousands(level.counts as f64), q, scale]
    };
    let kind = match &*certificate.noise {
        "conditioned" => {
            "Noise is drawn given that all sums hold, so that released counts add up by themselves"
        }
        _ => "Each count that is not known has noise of its own",
    };
    let table = match &*certificate.table {
        "none" => "No table is published beside the noisy counts.".to_owned(),
        name => format!(
            "table.csv is made of the noisy counts alone, by {name}: values that add up{}.",
            if name == "l2" { "" } else { ", whole and >= 0" }
        ),
    };
    Page::main("How the noise was drawn")
        .text(format!(
            "{kind}, of the law {}, exactly: by whole numbers, without rounding. It was drawn before the data were opened, from the \
             randomness of the operating system, without a seed. {table}",
            certificate.law
        ))
        .table(Table::new(1, ["level", "counts", "q", scale], certificate.levels.iter().map(row).collect()))
}

fn files(certificate: &Certificate) -> Page {
    let issued = &certificate.issued;
    let rows = certificate.files.iter().map(|(name, hash)| vec![name.clone(), hash.clone()]).collect();
    let commit = if issued.commit.is_empty() { String::new() } else { format!(", commit {}", issued.commit) };
    Page::main("How to check it")
        .text(format!(
            "`congenial release check` with this folder computes every file again that is a function of noisy.parquet, and compares \
             them byte for byte. It was made by {}{commit}, and that version checks it.",
            issued.program
        ))
        .table(Table::new(2, ["file", "SHA-256"], rows))
        .text(format!(
            "Release {}, booked {} in the ledger of the data set {}: line {}, whose hash is {}.",
            issued.release, issued.time, certificate.ledger.data_set, certificate.ledger.lines, certificate.ledger.head
        ))
}
