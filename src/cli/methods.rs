//! `congenial methods`

use crate::catalogue::{MethodKind, Place, laws_on, methods_on, served};
use crate::failure::Result;
use comfy_table::{ContentArrangement, Table, presets};

/// Columns of the page.
const WIDTH: u16 = 80;

/// The laws and methods that a config can name, with options and defaults.
pub(super) fn run() -> Result<()> {
    let places = [
        ("a hierarchy (data.levels)", Place::Tree),
        ("a table ([[invariant]])", Place::Table { inequalities: true }),
    ];
    for (name, place) in places {
        let laws = laws_on(place).into_iter().map(|[law, noise]| (law, noise));
        print(&format!("Laws on {name}"), laws)?;
        let methods = methods_on(place).into_iter().map(|[method, what, options]| {
            let laws = MethodKind::named(method.trim_matches('`')).map(|kind| served(kind, place));
            let options = if options.is_empty() { options } else { format!("\noptions: {options}") };
            (method, format!("{what}\nlaws: {}{options}", laws.unwrap_or_default()))
        });
        print(&format!("Methods on {name}"), methods)?;
    }
    Ok(())
}

fn print(title: &str, rows: impl Iterator<Item = (String, String)>) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.add_rows(rows.map(|(name, what)| [name.replace('`', ""), what.replace('`', "")]));
    super::print(&format!("{title}\n{}\n\n", table.trim_fmt()))
}
