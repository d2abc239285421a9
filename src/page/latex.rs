//! Pages in LaTeX: tables and figures for a paper, to be read by `\input`. They want the packages booktabs, longtable and
//! graphicx.

use super::{Page, Part, Table, shown};
use crate::figure::Figure;

/// Rows from which on a table goes over pages.
const LONG: usize = 35;

/// Standard errors within which an error is as good as the smallest.
const APART: f64 = 3.0;

/// Columns that name methods; names in others are a user's.
const METHODS: [&str; 4] = ["method", "options", "first", "second"];

/// What stands first: the packages, and how the pictures of figures are made of the exported ones.
const HEAD: &str = "% \\usepackage{booktabs,longtable,graphicx}\n";
const PICTURES: &str = "% Pictures, in the folder `figures` beside the paper:\n\
    %   congenial report DIR... --format svg --untitled -o figures\n%   \
    for f in figures/*.svg; do rsvg-convert --format pdf --output \"${f%.svg}.pdf\" \"$f\"; done\n";

/// Writes a page in LaTeX.
pub(super) fn of(page: &Page) -> String {
    let pictures = if page.figures().next().is_some() { PICTURES } else { "" };
    let mut out = format!("{HEAD}{pictures}\n");
    let mut heading = "";
    let mut labels: Vec<String> = Vec::new();
    for part in page.parts() {
        out += &match part {
            // The caption of the tables behind it.
            Part::Heading { text, .. } => {
                heading = text;
                continue;
            }
            Part::Figure(one) => figure(one),
            Part::Table(table) => {
                let mut label = Figure::named(heading).to_lowercase();
                let same = labels.iter().filter(|other| **other == label).count();
                labels.push(label.clone());
                if same > 0 {
                    label += &format!("-{}", same + 1);
                }
                tabular(table, &escaped(heading), &label)
            }
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

/// A figure by the name of its picture; where that is not made yet, the name stands in its place.
fn figure(figure: &Figure) -> String {
    let (name, between) = (&figure.name, if figure.note.is_empty() { "" } else { ". " });
    let caption = escaped(&format!("{}{between}{}", figure.title, figure.note));
    format!(
        "\\begin{{figure}}\n  \\centering\n  \
         \\IfFileExists{{figures/{name}.pdf}}{{\\includegraphics[width=\\linewidth]{{figures/{name}.pdf}}}}\
         {{\\fbox{{{}}}}}\n  \\caption{{{caption}}}\n  \\label{{fig:{}}}\n\\end{{figure}}\n\n",
        escaped(&format!("figures/{name}.pdf")),
        name.to_lowercase()
    )
}

/// A table; one of many rows goes over pages.
fn tabular(table: &Table, caption: &str, label: &str) -> String {
    let columns: String = table.numbers().iter().map(|number| if *number { 'r' } else { 'l' }).collect();
    let line = |cells: Vec<String>| format!("  {} \\\\\n", cells.join(" & "));
    let best = best(table);
    let row = |number: usize| {
        let cell = |(i, text): (usize, &String)| match table.is_said_above(number, i) {
            true => String::new(),
            false => {
                // A star at an error says that it is the best of its row.
                let is_starred = text.contains(" ± ") && text.contains(" *");
                let text = if is_starred { text.replace(" *", "") } else { text.clone() };
                let is_method = METHODS.contains(&table.header[i].as_str());
                let words = escaped(&if is_method { options(&text) } else { text });
                if is_starred || best.contains(&(number, i)) { format!("\\textbf{{{words}}}") } else { words }
            }
        };
        line(table.rows[number].iter().enumerate().map(cell).collect())
    };
    let rows: String = (0..table.rows.len()).map(row).collect();
    let header = line(table.header.iter().map(|name| escaped(&options(name))).collect());
    let named = format!("\\caption{{{caption}}}\\label{{tab:{label}}}");
    if table.rows.len() > LONG {
        return format!(
            "\\begin{{longtable}}{{{columns}}}\n  {named} \\\\\n  \\toprule\n{header}  \\midrule\n  \\endfirsthead\n  \
             \\toprule\n{header}  \\midrule\n  \\endhead\n  \\bottomrule\n  \\endfoot\n{rows}\\end{{longtable}}\n\n"
        );
    }
    format!(
        "\\begin{{table}}\n  \\centering\n  {named}\n  \\begin{{tabular}}{{{columns}}}\n  \\toprule\n{header}  \\midrule\n{rows}  \
         \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n\n"
    )
}

/// The cells with the smallest error of their column, among the rows that only the last key tells apart, and those less than
/// [`APART`] standard errors of both away from it. Cells without a standard error take no part.
fn best(table: &Table) -> Vec<(usize, usize)> {
    let group = |row: &Vec<String>| row[..table.keys.saturating_sub(1)].to_vec();
    let mut best = Vec::new();
    for &column in &table.errors {
        let known: Vec<(usize, (f64, f64))> =
            table.rows.iter().enumerate().filter_map(|(i, row)| Some((i, estimate(&row[column])?))).collect();
        for &(i, (mean, se)) in &known {
            let mut others = known
                .iter()
                .filter(|(j, _)| *j != i && group(&table.rows[*j]) == group(&table.rows[i]))
                .peekable();
            let is_beaten = |(_, (other, other_se)): &(usize, (f64, f64))| {
                mean - other > APART * libm::hypot(se, *other_se)
            };
            if others.peek().is_some() && !others.any(is_beaten) {
                best.push((i, column));
            }
        }
    }
    best
}

/// Mean and standard error of a cell that has both.
fn estimate(cell: &str) -> Option<(f64, f64)> {
    let (mean, rest) = cell.split_once(" ± ")?;
    let error = rest.split(' ').next()?;
    Some((mean.parse().ok()?, error.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?))
}

/// A text with options in words: `steps=6000,proposal-scale=0.5` is `steps 6000, proposal scale 0.5`.
fn options(text: &str) -> String {
    let option = |part: &str| -> Option<String> {
        let (name, value) = part.split_once('=')?;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        (is_name && !value.is_empty()).then(|| format!("{} {value}", name.replace('-', " ")))
    };
    let word = |word: &str| -> String {
        let parts: Vec<String> =
            word.split(',').map(|part| option(part).unwrap_or_else(|| part.to_owned())).collect();
        parts.join(if word.contains('=') { ", " } else { "," }).trim_end_matches(' ').to_owned()
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
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
const SIGNS: [(char, &str); 26] = [
    ('§', "\\S{}"),
    ('µ', "$\\mu$"),
    ('γ', "$\\gamma$"),
    ('δ', "$\\delta$"),
    ('ρ', "$\\rho$"),
    ('σ', "$\\sigma$"),
    ('→', "$\\to$"),
    ('·', "$\\cdot$"),
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

    fn table(rows: &[[&str; 3]]) -> Table {
        let row = |cells: &[&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table::new(2, ["epsilon", "method", "total"], rows.iter().map(row).collect());
        Table { errors: vec![2], ..table }
    }

    #[test]
    fn a_table_for_a_paper() {
        let page = Page::headed("Errors")
            .table(table(&[["0.5", "exact", "1.2 ± 0.1"], ["0.5", "mis steps=10,a-b=0.5", "2.3 ± 0.1"]]));
        let wanted = "% \\usepackage{booktabs,longtable,graphicx}\n\n\
            \\begin{table}\n  \\centering\n  \\caption{Errors}\\label{tab:errors}\n  \
            \\begin{tabular}{rlr}\n  \\toprule\n  epsilon & method & total \\\\\n  \\midrule\n  \
            0.5 & exact & \\textbf{1.2 $\\pm$ 0.1} \\\\\n   & mis steps 10, a b 0.5 & 2.3 $\\pm$ 0.1 \\\\\n  \
            \\bottomrule\n  \\end{tabular}\n\\end{table}\n\n";
        assert_eq!(of(&page), wanted);
    }

    /// The best of one budget: with what noise does not tell from it, and without what has no standard error.
    #[test]
    fn the_best_are_those_that_noise_does_not_tell_apart() {
        let rows = [
            ["0.5", "a", "1.0 ± 0.1"],
            ["0.5", "b", "1.4 ± 0.1"],
            ["0.5", "c", "1.5 ± 0.1"],
            ["0.5", "d, published", "0.1"],
            ["1", "a", "0.9 ± 0.1"],
            ["2", "a", "failed"],
            ["2", "b", "7 ± 0.5 †"],
            ["2", "c", "9 ± 0.5 *"],
        ];
        // 1.4 is 2.83 standard errors of the difference above 1.0, 1.5 is 3.5; alone is no best; 9 is 2.83 above 7.
        assert_eq!(best(&table(&rows)), [(0, 2), (1, 2), (6, 2), (7, 2)]);
        assert!(best(&Table { errors: Vec::new(), ..table(&rows) }).is_empty());
    }

    /// Long tables go over pages, tables under one heading have labels of their own, and figures are included.
    #[test]
    fn long_tables_labels_and_figures() {
        let rows = vec![["0.5", "a", "1"]; LONG + 1];
        let figure = Figure {
            name: "a-b".into(),
            title: "A & b".into(),
            about: String::new(),
            x: crate::figure::Axis::new("x", crate::figure::Scale::Linear),
            y: crate::figure::Axis::new("y", crate::figure::Scale::Linear),
            panels: Vec::new(),
            note: "What is left out.".into(),
        };
        let text = of(&Page::headed("One, two").figure(figure).table(table(&rows)).table(table(&rows[..2])));
        for part in [
            "\\begin{longtable}{rlr}\n  \\caption{One, two}\\label{tab:one-two}",
            "\\label{tab:one-two-2}",
            "{figures/a-b.pdf}}{\\fbox{figures/a-b.pdf}}\n  \\caption{A \\& b. What is left out.}\n  \\label{fig:a-b}",
            "rsvg-convert",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.matches("\\begin{").count(), text.matches("\\end{").count());
    }
}
