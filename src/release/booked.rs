//! Whether a ledger has a certificate.

use super::certificate::{Certificate, PLACES};
use super::config::{Config, change};
use super::known::known_before;
use super::ledger::{Entry, Head, History, Line, Spent};
use crate::hash;
use crate::page::{line, place};

/// What a ledger says of a certificate: where it has it.
///
/// The reason if it does not have it: the head that the certificate keeps is not in the ledger, which was put back to an earlier state or
/// is of other data; or what was booked there is not what the certificate states.
pub fn booked(certificate: &Certificate, history: &History) -> Result<String, String> {
    let stated = Head { head: certificate.ledger.head.clone(), lines: certificate.ledger.lines };
    if !history.has(&stated) {
        return Err(absent(&stated, history));
    }
    let at = stated.lines;
    let spending = history.lines().iter().find(|line| line.line == at);
    let Some(Line { entry: Entry::Spent(spent), time, .. }) = spending else {
        return Err(format!("it was made at line {at}, which books no release"));
    };
    let config = Config::of(&history.path, certificate.config.clone())
        .map_err(|e| format!("its config is none: {}", line(&e.to_string())))?;
    if let Some((what, booked, stated)) = differs((certificate, &config), (at, time, spent), history) {
        let [booked, stated] = [booked, stated].map(|text| line(&text).into_owned());
        return Err(format!("line {at} has booked the {what} `{booked}`, and it states `{stated}`"));
    }
    let sha256 = hash::of_bytes(certificate.text());
    match history.published().get(spent.release.as_str()) {
        Some(published) if published.certificate_sha256 == sha256 => {
            Ok(format!("at line {at}, published as {}", spent.release))
        }
        Some(published) => Err(format!(
            "line {at} has booked it, and what was published as {} has the SHA-256 {}, not {sha256}",
            spent.release, published.certificate_sha256
        )),
        None => Ok(format!("at line {at}; no line says that it was published")),
    }
}

/// What a certificate states otherwise than it was booked: its name, as it was booked, as it is stated.
fn differs(
    (certificate, config): (&Certificate, &Config),
    (at, time, spent): (u64, &String, &Spent),
    history: &History,
) -> Option<(&'static str, String, String)> {
    let (opened, issued, pays) = (history.opened(), &certificate.issued, &certificate.pays);
    let paid = match spent.pays.loss() {
        Some(loss) => format!("epsilon {}", loss.rounded_up(PLACES)),
        None => format!("rho {}", spent.pays.rho().rounded_up(PLACES)),
    };
    let of = |text: &String| text.clone();
    let before = history.spent().filter(|(line, _)| line.line < at).flat_map(|(_, spent)| &spent.known);
    let parts = [
        ("data set", of(&opened.id), of(&certificate.ledger.data_set)),
        ("time", of(time), of(&issued.time)),
        ("known counts before", known_before(config, before).join("; "), issued.known_before.join("; ")),
        ("release", of(&spent.release), of(&issued.release)),
        ("unit", of(&opened.unit), of(&issued.unit)),
        ("records of a unit", opened.records.to_string(), certificate.records_per_unit.to_string()),
        ("change", change(opened.protects).to_owned(), of(&certificate.protects)),
        ("law", of(&spent.law), of(&certificate.law)),
        ("loss", paid, format!("{} {}", pays.measure, pays.unit)),
        ("list of leaves", of(&spent.domain_sha256), of(&issued.domain)),
        ("config", of(&spent.config_sha256), hash::of_bytes(&certificate.config)),
    ];
    parts.into_iter().find(|(_, booked, stated)| booked != stated)
}

/// What a certificate whose head is not in a ledger tells.
fn absent(stated: &Head, history: &History) -> String {
    let (ledger, lines) = (place(&history.path), history.head().lines);
    let why = match stated.lines > lines {
        true => format!("has {lines}: it was put back to an earlier state, or is the ledger of other data"),
        false => {
            "has another hash there: it was put back and went on from an earlier state, or is the ledger of other data".to_owned()
        }
    };
    format!("it was made at line {} with the head {}, and {ledger} {why}", stated.lines, line(&stated.head))
}
