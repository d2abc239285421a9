//! What notebooks show of tables.

/// Rows of a table that are shown at most.
pub const ROWS: usize = 10;
/// Columns of a table that are shown at most.
pub const COLUMNS: usize = 20;

/// A text inside of HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// The first values of the first columns, and how many there are. `columns`: of those of the header that are shown.
pub fn table(name: &str, rows: u64, header: &[String], columns: &[Vec<String>]) -> String {
    let shown = columns.first().map_or(0, Vec::len);
    let more = header.len() > columns.len();
    let line = |tag: &str, cells: &mut dyn Iterator<Item = &String>| {
        let cells: String = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}{}</tr>\n", if more { format!("<{tag}>…</{tag}>") } else { String::new() })
    };
    let head = line("th", &mut header.iter().take(columns.len()));
    let body: String =
        (0..shown).map(|row| line("td", &mut columns.iter().map(|column| &column[row]))).collect();
    let cut = if rows > shown as u64 { format!(", the first {shown} shown") } else { String::new() };
    format!(
        "<div>\n<p>{}: {rows} rows{cut}, {} columns</p>\n<table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>",
        escaped(name),
        header.len()
    )
}
