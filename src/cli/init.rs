//! `congenial init`

use crate::failure::{Failure, Result};
use crate::files::NewFile;
use crate::grid::absolute;
use crate::input::{CsvTable, Guess, Wanted, Wishes};
use crate::study::{self, Planned};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The data: CSV or parquet, a row for each group, with its count
    table: PathBuf,
    /// The columns of a hierarchy, from coarse to fine
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    levels: Vec<String>,
    /// The column of the counts
    #[arg(long, value_name = "COLUMN")]
    count: Option<String>,
    /// Levels whose counts are public, with all above them: `total`, and those below it
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    known: Vec<String>,
    /// The config to write, which must not exist; the standard output if none is given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What every method pays
    #[arg(long, value_delimiter = ',', default_value = "0.5,1,2,4")]
    loss: Vec<f64>,
}

/// Counts that a config of ours draws, roughly, for each method and loss.
const DRAWN: usize = 20_000_000;
/// Entries of a two-way table up to which its margins are kept by an exact sampler.
const EXACT: usize = 16;
/// Rows up to which every method draws once before a config is printed, and from which on the slowest is left out.
const TRIED: usize = 20_000;
/// The column where comments begin, and that where they end.
const COMMENT: usize = 34;

/// Prints a config for a table, which runs.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.table;
    if let Some(loss) = arguments.loss.iter().find(|loss| !(**loss > 0.0 && loss.is_finite())) {
        return Err(Failure::Usage(format!("--loss {loss}: want numbers > 0")));
    }
    let table = CsvTable::read_wanted(path, &Wanted::readable())?;
    let wishes = Wishes { levels: arguments.levels.clone(), count: arguments.count.clone() };
    let guess = Guess::of(&table, &wishes)?;
    drop(table);
    if let Some(level) = arguments.known.iter().find(|known| *known != "total" && !guess.keys.contains(known))
    {
        let levels = if guess.nested { guess.keys.join(", ") } else { "there is no hierarchy".into() };
        return Err(Failure::Usage(format!("--known {level}: want `total` or levels: {levels}")));
    }
    let mut draft = Draft::new(arguments, &guess);
    draft.settle()?;
    let Some(output) = &arguments.output else { return super::print(&draft.text()) };
    let failed = |e: std::io::Error| Failure::write(output, e);
    let file = NewFile::create(output)?;
    file.file()?.write_all(draft.text().as_bytes()).map_err(failed)?;
    file.finish()
}

/// A config while it is made.
struct Draft<'a> {
    arguments: &'a Arguments,
    guess: &'a Guess,
    change: &'static str,
    methods: Vec<&'static str>,
    /// Methods that are left out, and why.
    without: Vec<(&'static str, String)>,
}

/// The changes that a loss may be of, the best question first, in words.
const CHANGES: [(&str, &str); 3] = [
    ("moved", "what is paid is for one person who moves to another group"),
    ("added", "what is paid is for one person more or less"),
    ("smallest", "what is paid is for the fewest people whose groups can change"),
];

impl<'a> Draft<'a> {
    fn new(arguments: &'a Arguments, guess: &'a Guess) -> Self {
        let (mut methods, mut without) = (Vec::new(), Vec::new());
        if guess.nested {
            methods.extend([
                "\"unconstrained\"",
                "\"exact\"",
                NONNEGATIVE,
                "\"topdown\"",
                "\"bluedown\"",
                "\"l2\"",
            ]);
            if guess.rows > TRIED {
                methods.retain(|method| *method != NONNEGATIVE);
                without.push((NONNEGATIVE, format!("slow on {} rows", guess.rows)));
            }
        } else {
            let exact = !guess.margins || guess.rows <= EXACT;
            let exact = if exact { "\"exact\"" } else { "{ kind = \"line-gibbs\", sweeps = 200 }" };
            methods.extend(["\"unconstrained\"", exact, "\"l2-then-integer-l1\""]);
        }
        Self { arguments, guess, change: CHANGES[0].0, methods, without }
    }

    /// Finds a change that is possible, and leaves out methods that do not draw. Errors: nothing runs.
    fn settle(&mut self) -> Result<()> {
        let all = std::mem::take(&mut self.methods);
        self.methods = all[..1].to_vec();
        let mut failed = None;
        for (change, _) in CHANGES {
            self.change = change;
            match self.planned() {
                Ok(_) => {
                    failed = None;
                    break;
                }
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        let (mut good, mut failure) = (Vec::new(), None);
        for method in all {
            self.methods = vec![method];
            match self
                .planned()
                .and_then(|planned| if self.guess.rows > TRIED { Ok(()) } else { drawn(&*planned) })
            {
                Ok(()) => good.push(method),
                Err(why) => {
                    self.without.push((method, first_line(&why)));
                    failure = Some(why);
                }
            }
        }
        self.methods = good;
        match failure {
            Some(failure) if self.methods.is_empty() => Err(failure),
            _ => self.planned().map(drop),
        }
    }

    /// The plan of the config as it stands.
    fn planned(&self) -> Result<Box<dyn Planned>> {
        study::plan(study::read(Path::new("study.toml"), &self.text(), &[])?)
    }

    /// The path of the table, as the config is to have it: as it was given where both lie in one folder, else from the root.
    fn seen(&self) -> String {
        let path = &self.arguments.table;
        let folder = self.arguments.output.as_ref().and_then(|output| output.parent());
        let here = folder.is_none_or(|folder| folder.as_os_str().is_empty());
        if here { path.to_string_lossy().into_owned() } else { absolute(path) }
    }

    /// The config.
    fn text(&self) -> String {
        let (guess, path) = (self.guess, &self.arguments.table);
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
        let name: String =
            path.file_stem().unwrap_or_default().to_string_lossy().chars().map(plain).collect();
        let of_change =
            CHANGES.iter().find(|(change, _)| *change == self.change).map_or("", |(_, words)| words);
        let replicates = (DRAWN / guess.rows).clamp(10, 1000);
        let mut lines = vec![
            "# Which method errs least, on which level, for the loss of privacy that it pays? `congenial run` answers.".into(),
            "# What this file says of the data is a guess: read it first.".into(),
            line(&format!("name = {}", quoted(&name)), ""),
            line("seed = 1", "the same seed gives the same figures"),
            line("study = \"frontier\"", "methods side by side that pay the same"),
            line(&format!("change = {}", quoted(self.change)), of_change),
            line(&format!("replicates = {replicates}"), "releases by every method at every loss; errors are means of them"),
            String::new(),
            "[data]".into(),
            line(&format!("table = {}", quoted(&self.seen())), "seen from this file"),
            line(&format!("count = {}", quoted(&guess.count)), "the column of the counts"),
        ];
        let keys = list(&guess.keys);
        if guess.nested {
            let order = match &guess.crossed[..] {
                crossed if crossed.len() > 1 => {
                    format!("from coarse to fine; the order of {} is a choice", crossed.join(", "))
                }
                _ => "from coarse to fine; each group is the sum of its parts".into(),
            };
            lines.push(line(&format!("levels = {keys}"), &order));
            lines.push(line(
                &format!("known = {}", list(&self.known())),
                "levels whose counts are public, each with all above it: \"total\" first",
            ));
        } else {
            lines.push(line(&format!("entry = {keys}"), "columns that name a group"));
        }
        let rest = self.grid();
        lines.extend(remarks(guess, LINES.saturating_sub(lines.len() + rest.len())));
        lines.extend(rest);
        lines.join("\n") + "\n"
    }

    /// The levels that are known, with those above them, whose counts are sums of theirs.
    fn known(&self) -> Vec<String> {
        let levels = std::iter::once("total").chain(self.guess.keys.iter().map(String::as_str));
        let levels: Vec<&str> = levels.collect();
        let end = levels.iter().rposition(|level| self.arguments.known.iter().any(|known| known == level));
        levels[..end.map_or(0, |end| end + 1)].iter().map(|&level| level.to_owned()).collect()
    }

    /// The lines behind the data: what is kept, and the grid.
    fn grid(&self) -> Vec<String> {
        let guess = self.guess;
        let mut lines = vec![String::new()];
        if !guess.nested {
            lines.push(line("[[invariant]]", "sums that are public, and kept by every release"));
            if guess.margins {
                let [rows, columns] = [0, 1].map(|i| quoted(&guess.keys[i]));
                lines.extend([
                    "kind = \"margins\"".into(),
                    format!("rows = {rows}"),
                    format!("columns = {columns}"),
                ]);
            } else {
                lines.push("kind = \"total\"".into());
            }
            lines.push(String::new());
        }
        let losses: Vec<String> = self.arguments.loss.iter().map(|loss| format!("{loss:?}")).collect();
        let (losses, methods) = (losses.join(", "), self.methods.join(", "));
        lines.extend([
            "[[grid]]".into(),
            line(&format!("paid = [{losses}]"), "the loss (epsilon): smaller is more private, and errs more"),
            line("law = \"double-geometric\"", "the noise: whole numbers"),
            format!("# method: {}", if guess.nested { TREES } else { TABLES }),
            format!("method = [{methods}]"),
        ]);
        let without =
            |(method, why): &(&str, String)| format!("# left out: {method} ({})", crate::page::line(why));
        lines.extend(self.without.iter().map(without));
        lines
    }
}

/// Lines of a config at most.
const LINES: usize = 30;
const NONNEGATIVE: &str = "{ kind = \"exact\", nonnegative = true }";
/// What the methods of a hierarchy do.
const TREES: &str =
    "noise alone; noise that adds up; the same >= 0; and three that correct noise so that it adds up";
/// What the methods of a table do.
const TABLES: &str = "noise alone; noise that keeps the sums; noise that is corrected so that it does";

/// Draws every cell once. Errors: the first that does not draw.
fn drawn(planned: &dyn Planned) -> Result<()> {
    (0..planned.units().len()).try_for_each(|cell| {
        let drawn = planned.prepare(cell).and_then(|prepared| prepared.draw(0..1).1.map(drop));
        drawn.map_err(|e| Failure::Wrong(e.to_string()))
    })
}

/// The first line of what failed.
fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

/// A line of a config with its comment.
fn line(text: &str, comment: &str) -> String {
    // Behind a long line two spaces.
    let text = format!("{text}  ");
    if comment.is_empty() { text.trim_end().to_owned() } else { format!("{text:<COMMENT$}# {comment}") }
}

/// What was seen, what is doubtful, and which columns are left out, in lines of one reason each; so many lines at most.
fn remarks(guess: &Guess, room: usize) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, why) in &guess.left_out {
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(quoted(name)),
            None => reasons.push((why, vec![quoted(name)])),
        }
    }
    let without = |(why, names): &(&str, Vec<String>)| {
        let shown = names[..names.len().min(6)].join(", ");
        let rest = if names.len() > 6 { format!(" and {} more", names.len() - 6) } else { String::new() };
        format!("left out: {shown}{rest} ({why})")
    };
    let seen = (!guess.notes.is_empty()).then(|| format!("seen: {}", guess.notes.join("; ")));
    let doubts = guess.doubts.iter().map(|doubt| format!("doubt: {doubt}"));
    let all: Vec<String> = seen.into_iter().chain(doubts).chain(reasons.iter().map(without)).collect();
    let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
    let more = (shown < all.len()).then(|| format!("and {} remarks more", all.len() - shown));
    let lines = all[..shown].iter().chain(&more);
    lines.map(|text| format!("# {}", crate::page::line(text))).collect()
}
