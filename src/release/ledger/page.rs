//! A ledger as a page: what it is for, each release, and what is left.

use super::accounting::Left;
use super::entry::{Known, Line, Spent};
use super::exact::shown;
use super::history::History;
use super::limit::Limit;
use crate::page::{Page, Table, counted, line, thousands};

/// Known counts of a release that a row names.
const NAMED: usize = 3;

/// The page of a ledger.
pub fn page(history: &History) -> Page {
    let opened = history.opened();
    let (unit, limit) = (line(&opened.unit), &opened.limit);
    let first = &history.lines()[0];
    let about = format!(
        "Protects one unit that is {}: {unit}, {} at most. All releases together may pay {limit}. Opened {} by congenial {}, for the \
         data set {}.",
        opened.protects.word(),
        counted(opened.records as f64, "record"),
        line(&first.time),
        line(&opened.version),
        line(&opened.id)
    );
    let page = Page::main(format!("Ledger of {unit}: {limit}")).text(about);
    let published = history.published();
    let row = |(at, spent): (&Line, &Spent)| {
        vec![
            line(&spent.product).to_string(),
            line(&at.time).to_string(),
            line(&spent.law).to_string(),
            spent.pays.loss().map_or_else(|| "none".to_owned(), shown),
            shown(spent.pays.rho()),
            known_words(&spent.known),
            if published.contains_key(spent.release.as_str()) { "yes".into() } else { "no, and paid".into() },
        ]
    };
    let rows: Vec<Vec<String>> = history.spent().map(row).collect();
    let page = match rows.is_empty() {
        true => page.text("No release has paid yet."),
        false => {
            let header = ["release", "paid at", "law", "loss", "rho", "known counts", "published"];
            page.table(Table::new(1, header, rows)).text(
                "Loss and rho are of the change of one unit, rounded up. A release that was not published stays paid: it failed or was \
                 stopped after it had paid. Stopped in its last moment, it may be published all the same: its folder tells.",
            )
        }
    };
    page.text(balance(history))
}

/// What is paid and left, in words.
fn balance(history: &History) -> String {
    let limit = &history.opened().limit;
    let account = history.account();
    let figure = match limit {
        Limit::Pure { .. } => "a loss of",
        Limit::Approximate { .. } => "epsilon",
        Limit::Concentrated { .. } => "rho",
    };
    let spent = account.spent(limit).map_or_else(|| "more than the limit".to_owned(), |spent| shown(&spent));
    let Left { loss, rho } = history.left();
    let left = match rho {
        None => format!("a loss of {loss}"),
        Some(rho) => format!(
            "room for one release more with a pure loss of {loss}, or with rho {rho} of a discrete Gaussian"
        ),
    };
    let more = history.spent().next_back().map(|(_, last)| {
        let more = account.more(&last.pays, limit) as f64;
        format!(" The limit takes {} more of the size of the last one.", counted(more, "release"))
    });
    format!("Paid in all: {figure} {spent}. Left: {left}.{}", more.unwrap_or_default())
}

/// The known counts of a release in words.
fn known_words(known: &[Known]) -> String {
    let words = |count: &Known| match count.is_empty() {
        true => "total".to_owned(),
        false => {
            let pairs = count.iter().map(|(column, value)| format!("{} = {}", line(column), line(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    };
    let mut named: Vec<String> = known.iter().take(NAMED).map(words).collect();
    if known.len() > NAMED {
        named.push(format!("{} more", thousands((known.len() - NAMED) as f64)));
    }
    if named.is_empty() { "none".to_owned() } else { named.join("; ") }
}
