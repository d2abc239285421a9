//! Pages in LaTeX: tables for a paper, to be read by `\input`. They want the package booktabs.

use super::{Page, Part, Table, shown};

/// Writes a page in LaTeX.
pub(super) fn of(page: &Page) -> String {
    let mut out = "% \\usepackage{booktabs}\n\n".to_owned();
    let mut caption = String::new();
    for part in page.parts() {
        out += &match part {
            // The caption of the tables behind it.
            Part::Heading { text, .. } => {
                caption = escaped(text);
                continue;
            }
            Part::Figure(_) => continue,
            Part::Table(table) => tabular(table, &caption),
            Part::Text(text) => format!("\\noindent {}\n\n", escaped(text)),
            Part::List(entries) => {
                let entries: String =
                    entries.iter().map(|entry| format!("  \\item {}\n", escaped(entry))).collect();
                format!("\\begin{{itemize}}\n{entries}\\end{{itemize}}\n\n")
            }
        };
    }
    out
}

fn tabular(table: &Table, caption: &str) -> String {
    let columns: String = table.numbers().iter().map(|number| if *number { 'r' } else { 'l' }).collect();
    let line = |cells: Vec<String>| format!("  {} \\\\\n", cells.join(" & "));
    let row = |number: usize| {
        let cell = |(i, text): (usize, &String)| match table.is_said_above(number, i) {
            true => String::new(),
            false => escaped(text),
        };
        line(table.rows[number].iter().enumerate().map(cell).collect())
    };
    let rows: String = (0..table.rows.len()).map(row).collect();
    format!(
        "\\begin{{table}}\n  \\centering\n  \\caption{{{caption}}}\n  \\begin{{tabular}}{{{columns}}}\n  \\toprule\n{}  \\midrule\n{rows}  \
         \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n\n",
        line(table.header.iter().map(|name| escaped(name)).collect())
    )
}

/// Text in which nothing is a command.
fn escaped(text: &str) -> String {
    let text = shown(text).replace('\n', " ").replace(">=", "≥").replace("<=", "≤");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out += "\\textbackslash{}",
            '^' => out += "\\textasciicircum{}",
            '~' => out += "\\textasciitilde{}",
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => out.extend(['\\', c]),
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '|' => out += "\\textbar{}",
            '"' => out += "''",
            _ => match SIGNS.iter().find(|(sign, _)| *sign == c) {
                Some((_, command)) => out += command,
                None => out.push(c),
            },
        }
    }
    out
}

/// What fonts of a paper may lack.
const SIGNS: [(char, &str); 18] = [
    ('±', "$\\pm$"),
    ('−', "$-$"),
    ('×', "$\\times$"),
    ('≤', "$\\le$"),
    ('≥', "$\\ge$"),
    ('†', "\\dag{}"),
    ('‡', "\\ddag{}"),
    ('ε', "$\\varepsilon$"),
    ('τ', "$\\tau$"),
    ('χ', "$\\chi$"),
    ('²', "$^2$"),
    ('₂', "$_2$"),
    ('‖', "$\\|$"),
    ('…', "\\ldots{}"),
    ('✓', "$\\surd$"),
    ('✗', "$\\times$"),
    ('∞', "$\\infty$"),
    ('λ', "$\\lambda$"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_is_a_command() {
        assert_eq!(
            escaped("a_b & 50 % \\input{x} $y$"),
            "a\\_b \\& 50 \\% \\textbackslash{}input\\{x\\} \\$y\\$"
        );
        assert_eq!(escaped("exact >= 0: 1.5 ± 0.2"), "exact $\\ge$ 0: 1.5 $\\pm$ 0.2");
    }

    #[test]
    fn a_table_for_a_paper() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = vec![row(["0.5", "exact", "1.2 ± 0.1"]), row(["0.5", "l2", "1.3 ± 0.1"])];
        let page = Page::headed("Errors").table(Table::new(2, ["epsilon", "method", "total"], rows));
        let wanted = "% \\usepackage{booktabs}\n\n\\begin{table}\n  \\centering\n  \\caption{Errors}\n  \
            \\begin{tabular}{rlr}\n  \\toprule\n  \
                      epsilon & method & total \\\\\n  \\midrule\n  0.5 & exact & 1.2 $\\pm$ 0.1 \\\\\n   & l2 & 1.3 $\\pm$ 0.1 \\\\\n  \
                      \\bottomrule\n  \\end{tabular}\n\\end{table}\n\n";
        assert_eq!(of(&page), wanted);
    }
}
