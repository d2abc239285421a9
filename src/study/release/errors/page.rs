//! Errors as pages, figures and records, published ones beside.

use super::LevelRow;
use crate::config::AxisName;
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::input::within_of;
use crate::page::{Number, Page, Pivot, Table, counted, distinct, grouped, number, replicates, with_error};
use crate::privacy::{Change, ChangeKind, Price};
use crate::study::cells::{CellRow, statements};
use crate::study::tell::published::{self, Published};
use crate::study::tell::records::{FAILED, Named, Records};
use crate::table::Key;
use serde_json::Map;
use std::collections::{BTreeSet, HashMap};

type Line<'a> = (&'a CellRow, &'a LevelRow);

/// By cell, what it pays for every kind of change.
type Statements = HashMap<Key, Vec<(ChangeKind, Change)>>;

/// The columns of the table of errors, behind those that say what a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Level(u32),
    Pays,
}

/// A published normalised L1 error of a level, of one release.
struct Theirs {
    /// The source, and its own name of the column.
    column: (String, String),
    /// The method of ours that it stands beside.
    method: String,
    /// The laws beside which it is shown.
    laws: Vec<String>,
    epsilon: f64,
    level: u32,
    value: f64,
}

impl Theirs {
    /// One that tells law, method, epsilon and level, and nothing else.
    fn of(published: &Published) -> Option<Self> {
        let here = published.table == "l1_error" && published.figure == "l1_normalised";
        let plain = published.standard_error.is_none() && published.keys.len() == 4;
        let key = |name: &str| published.key(name).filter(|_| here && plain);
        Some(Self {
            column: (published.source.clone(), published.name.clone()),
            method: key("method").filter(|method| !method.contains('|'))?.to_owned(),
            laws: key("law")?.split('|').map(str::to_owned).collect(),
            epsilon: key("epsilon")?.parse().ok()?,
            level: key("level")?.parse().ok()?,
            value: published.value,
        })
    }

    /// Whether the table of a law has its row.
    fn is_among(&self, cell: &CellRow, level: u32) -> bool {
        let law = self.laws.iter().any(|law| law == cell.law.name());
        law && self.epsilon == cell.epsilon && self.level == level
    }
}

/// Whether the pages of a run show a figure. Errors: its tables.
pub(in super::super) fn shows(run: &Named, published: &Published) -> Result<bool> {
    let Some(figure) = Theirs::of(published) else { return Ok(false) };
    let cells = run.by_cell(|row: &LevelRow| row.cell)?;
    Ok(cells.iter().any(|(cell, rows)| rows.iter().any(|row| figure.is_among(cell, row.level))))
}

fn published(run: &Named) -> Result<Vec<Theirs>> {
    Ok(published::of(&run.run)?.iter().filter_map(Theirs::of).collect())
}

/// The normalised L1 error: a table for each law, budget rule and sensitivity.
pub(in super::super) fn pages(run: &Named) -> Result<Page> {
    let drawn = run.by_cell(|row: &LevelRow| row.cell)?;
    let drawn: HashMap<Key, Vec<LevelRow>> =
        drawn.into_iter().map(|(cell, levels)| (cell.cell, levels)).collect();
    let (published, statements) = (published(run)?, statements(&run.run)?);
    let is_shown = |cell: &&CellRow| drawn.contains_key(&cell.cell) || run.failed.contains_key(&cell.cell);
    // Cells that share a table: everything but epsilon, level and method.
    let tables = grouped(run.printed.iter().filter(is_shown), |cell| cell.noise_but_budget());
    Ok(tables
        .into_iter()
        .map(|cells| Told::new(run, cells, &drawn, &published, &statements).page())
        .collect())
}

/// The price of a change, where it is possible and known.
fn price<'a>(statements: &'a Statements, cell: &CellRow, kind: ChangeKind) -> Option<&'a Price> {
    match statements.get(&cell.cell)?.iter().find(|(of, _)| *of == kind)? {
        (_, Change::Possible(price)) => Some(price),
        _ => None,
    }
}

/// What one table tells.
struct Told<'a> {
    run: &'a Named,
    /// With those that failed.
    cells: Vec<&'a CellRow>,
    /// The first cell of every method, those with releases of one kind together.
    methods: Vec<&'a CellRow>,
    lines: Vec<Line<'a>>,
    published: Vec<&'a Theirs>,
    statements: &'a Statements,
    /// The change whose price is shown: of added, moved and smallest the first that is possible for one of the cells.
    change: Option<ChangeKind>,
}

impl<'a> Told<'a> {
    /// Cells of one noise at any budget, and what is published for its law.
    fn new(
        run: &'a Named,
        cells: Vec<&'a CellRow>,
        drawn: &'a HashMap<Key, Vec<LevelRow>>,
        published: &'a [Theirs],
        statements: &'a Statements,
    ) -> Self {
        let methods = grouped(cells.iter().copied(), |cell| cell.method_key());
        let mut methods: Vec<&CellRow> = methods.into_iter().map(|same| same[0]).collect();
        methods.sort_by_key(|cell| cell.releases());
        let levels =
            |&cell: &&'a CellRow| drawn.get(&cell.cell).into_iter().flatten().map(move |row| (cell, row));
        let lines = cells.iter().flat_map(levels).collect();
        let of_law = |figure: &&Theirs| figure.laws.iter().any(|law| law == cells[0].law.name());
        let published = published.iter().filter(of_law).collect();
        let change = ChangeKind::ALL
            .into_iter()
            .find(|&kind| cells.iter().any(|cell| price(statements, cell, kind).is_some()));
        Self { run, cells, methods, lines, published, statements, change }
    }

    /// The place of a cell's method.
    fn place(&self, cell: &CellRow) -> usize {
        self.methods.iter().position(|method| method.method_key() == cell.method_key()).unwrap_or(0)
    }

    /// The place of the method that a published figure stands beside: the last of its name.
    fn place_of(&self, figure: &Theirs) -> Option<usize> {
        self.methods.iter().rposition(|method| method.method.name() == figure.method)
    }

    /// The cell of a method at a budget.
    fn at(&self, epsilon: f64, place: usize) -> Option<&'a CellRow> {
        self.cells.iter().copied().find(|cell| cell.epsilon == epsilon && self.place(cell) == place)
    }

    /// The levels, in order; their numbers are a file's, and may be any.
    fn levels(&self) -> BTreeSet<u32> {
        self.lines.iter().map(|(_, line)| line.level).collect()
    }

    fn page(&self) -> Page {
        let (run, cell) = (self.run, self.cells[0]);
        let (_, replicates) = replicates(self.lines.iter().map(|(_, line)| line.replicates));
        // Everything that the noise is, the levels' split of a tree alone; what not every law has comes last.
        let on_table = run.run.manifest.subject == "table";
        let sum = if on_table { "all entries / their number" } else { "a level / nodes of the whole tree" };
        let mut which = cell.parts();
        which.retain(|part| !(part.words.is_empty() || on_table && part.axis == AxisName::Split));
        which.sort_by_key(|part| part.axis == AxisName::Delta);
        let which: Vec<String> = which.into_iter().map(|part| part.words).collect();
        let mut about = format!(
            "Sum of |released - confidential| over {sum}, mean ± standard error of {replicates} replicates ({}).",
            which.join(", ")
        );
        if let Some(within) = within_of(&run.run.manifest.invariant) {
            about += &format!(" Releases that add up lie {within}.");
        }
        if let Some(change) = self.change {
            about += &format!(" pays: epsilon of a release, for {}", change.words());
            let is_bound = |cell: &&CellRow| self.price(cell).is_some_and(Price::epsilon_is_bound);
            if self.cells.iter().any(is_bound) {
                about += "; <= where it is a bound, and may be less";
            }
            about += ".";
        }
        let (law, said) = (cell.law.name(), cell.said_but(&[AxisName::Sensitivity]));
        let title = format!("{}: normalised L1 error, {}{said}", run.name, cell.law.noise_words());
        let page = Page::main(title.clone()).text(about);
        let page = match self.lines.is_empty() {
            true => page,
            false => page.figure(self.figure(format!("{}-l1-error-{law}{said}", run.name), title)),
        };
        page.table(self.table()).and(self.against_published())
    }

    /// What a cell pays, short.
    fn pays(&self, cell: &CellRow) -> String {
        self.price(cell).map_or("-".into(), Price::short)
    }

    /// What a cell pays for the change that is told.
    fn price(&self, cell: &CellRow) -> Option<&'a Price> {
        price(self.statements, cell, self.change?)
    }

    /// Levels by epsilon, what releases are, and method; below a method the published figures that stand beside it.
    fn table(&self) -> Table {
        let ours = |cell: &CellRow| (Number(cell.epsilon), self.place(cell), None);
        // Behind all, where that method has none.
        let theirs = |figure: &'a Theirs| {
            let place = self.place_of(figure).filter(|&place| self.at(figure.epsilon, place).is_some());
            (Number(figure.epsilon), place.unwrap_or(usize::MAX), Some(&figure.column))
        };
        // Where all cells failed, the levels are those of the run.
        let levels = match self.levels() {
            none if none.is_empty() => (1..=self.run.run.manifest.levels.len().max(1) as u32).collect(),
            some => some,
        };
        let is_here = |figure: &&&Theirs| {
            levels.contains(&figure.level) && self.cells.iter().any(|cell| cell.epsilon == figure.epsilon)
        };
        let published = self.published.iter().filter(is_here);
        let published =
            published.map(|figure| (theirs(figure), Column::Level(figure.level), number(figure.value)));
        let errors = self
            .lines
            .iter()
            .map(|(cell, row)| (ours(cell), Column::Level(row.level), with_error(row.l1_normalised)));
        let pays = self.cells.iter().map(|cell| (ours(cell), Column::Pays, self.pays(cell)));
        let pays = pays.filter(|_| self.change.is_some());
        let keys: Vec<_> = self.cells.iter().map(|cell| ours(cell)).collect();
        let words = |&(Number(epsilon), place, column): &(Number, usize, Option<&(String, String)>)| {
            let alike = |cell: &CellRow| {
                let kind = |cell: &CellRow| (cell.method_plain(), cell.releases());
                self.methods.iter().filter(|other| kind(other) == kind(cell)).count()
            };
            let method = match (column, self.at(epsilon, place)) {
                (Some((_, name)), _) => format!("{name}, published"),
                (None, Some(cell)) if alike(cell) == 1 => cell.method_bare(),
                (None, cell) => cell.map_or(String::new(), CellRow::method_bare_words),
            };
            let releases = self.methods.get(place).map_or("-", |cell| cell.releases().words());
            [epsilon.to_string(), releases.to_owned(), method]
        };
        let columns = levels.iter().map(|&level| Column::Level(level));
        let table = Pivot::of(errors.chain(published).chain(pays)).and_keys(keys, columns).table(
            ["epsilon", "releases", "method"],
            words,
            |&column| match column {
                Column::Level(level) => [self.run.level(level)],
                Column::Pays => ["pays".into()],
            },
            |&(Number(epsilon), place, theirs), column, line| {
                let failed =
                    || self.at(epsilon, place).is_some_and(|cell| self.run.failed.contains_key(&cell.cell));
                [match line.get(column) {
                    Some(words) => words.clone(),
                    None if theirs.is_none() && failed() => FAILED.into(),
                    None => "-".into(),
                }]
            },
        );
        // Levels stand behind what a line is about.
        Table { errors: (table.keys..table.keys + levels.len()).collect(), ..table }
    }

    /// Methods in words, with what they release where some release reals and some integers, and the budgets at which they
    /// failed.
    fn names(&self) -> Vec<String> {
        let several = self.methods.iter().any(|method| method.integers != self.methods[0].integers);
        let words = |method: &&CellRow| {
            let kind = if method.integers { ", integers" } else { ", reals" };
            let name = method.method_words() + if several { kind } else { "" };
            let failed = self.run.printed_failed().filter(|cell| self.cells.contains(cell));
            let failed = failed.filter(|cell| cell.method_key() == method.method_key());
            let failed: Vec<String> = failed.map(|cell| cell.epsilon.to_string()).collect();
            match failed.is_empty() {
                true => name,
                false => format!("{name} ({FAILED} at epsilon {})", failed.join(", ")),
            }
        };
        self.methods.iter().map(words).collect()
    }

    /// Levels that are known: no cell has noise there, nor errors.
    fn is_known(&self, level: u32) -> bool {
        self.lines.iter().filter(|(_, line)| line.level == level).all(|(_, line)| line.scale == 0.0)
    }

    /// The errors by level and method, the published ones beside. Levels that are known have no panel.
    fn figure(&self, name: String, title: String) -> Figure {
        let names = self.names();
        let (known, shown): (Vec<u32>, Vec<u32>) =
            self.levels().into_iter().partition(|&level| self.is_known(level));
        let known: Vec<String> = known.into_iter().map(|level| self.run.level(level)).collect();
        Figure {
            name: Figure::named(&name),
            title,
            about: format!(
                "For each of {} the mean error of a release, with its 95 % interval, on a logarithmic axis, by level and \
                    epsilon. The table below has the figures.",
                counted(names.len() as f64, "method")
            ),
            x: Axis::new("normalised L1 error (counts per node)", Scale::Log),
            y: Axis::new(String::new(), Scale::Names(names)),
            panels: shown.into_iter().map(|level| self.panel(level)).collect(),
            note: match known.is_empty() {
                true => String::new(),
                false => format!("Known, so without errors: {}.", known.join(", ")),
            },
        }
    }

    /// A level, in which methods have the places of their names.
    fn panel(&self, level: u32) -> Panel {
        let mut series = Vec::new();
        for epsilon in distinct(self.lines.iter().map(|(cell, _)| cell.epsilon)) {
            let here =
                self.lines.iter().filter(|(cell, line)| cell.epsilon == epsilon && line.level == level);
            let mark = |(cell, line): &Line| {
                let error = line.l1_normalised;
                Mark::new(error.mean, self.place(cell) as f64).estimated(error)
            };
            let dots = |name, marks| Series { name, kind: Kind::Dots, marks };
            series.push(dots(format!("epsilon {epsilon}"), here.map(mark).collect()));
            let theirs =
                self.published.iter().filter(|figure| figure.epsilon == epsilon && figure.level == level);
            let mark = |figure: &&Theirs| Some(Mark::new(figure.value, self.place_of(figure)? as f64));
            if !self.published.is_empty() {
                series.push(dots(format!("epsilon {epsilon}, published"), theirs.filter_map(mark).collect()));
            }
        }
        Panel { title: self.run.level(level), series }
    }

    /// Our errors beside a published figure: of a method with and without inequalities, of the one without.
    fn ours(&self, method: &str, level: u32, epsilon: f64) -> Option<&'a LevelRow> {
        let here = || {
            self.lines.iter().filter(|(cell, line)| {
                cell.method.name() == method && cell.epsilon == epsilon && line.level == level
            })
        };
        here().find(|(cell, _)| !cell.nonnegative).or(here().next()).map(|(_, line)| *line)
    }

    /// How far each published figure lies from ours, and whether it scales as noise must.
    fn against_published(&self) -> Page {
        if self.published.is_empty() {
            return Page::default();
        }
        let row = |figure: &&'a Theirs| {
            ((&figure.column, figure.method.as_str(), figure.level), Number(figure.epsilon), *figure)
        };
        let pivot = Pivot::of(self.published.iter().map(row));
        let table = pivot.table(
            ["published", "beside", "level"],
            |&((_, name), method, level)| [name.clone(), method.to_owned(), self.run.level(level)],
            |Number(epsilon)| [format!("ε={epsilon}: theirs"), "ours".to_owned(), "z".to_owned()],
            |&(_, method, level), epsilon, line| {
                let (ours, theirs) = (self.ours(method, level, epsilon.0), line.get(epsilon));
                let z = ours
                    .zip(theirs)
                    .map(|(ours, theirs)| (theirs.value - ours.l1_normalised.mean) / ours.deviation());
                let times = |error: Option<f64>| error.map_or("-".into(), |error| number(epsilon.0 * error));
                [
                    times(theirs.map(|theirs| theirs.value)),
                    times(ours.map(|ours| ours.l1_normalised.mean)),
                    z.filter(|z| z.is_finite()).map_or("-".into(), |z| format!("{z:+.1}")),
                ]
            },
        );
        let notes = pivot.lines().filter_map(|(key, line)| {
            let [low, high] = [pivot.across().first()?, pivot.across().last()?];
            self.scaling(key.1, [line.get(low)?, line.get(high)?])
        });
        Page::headed(format!(
            "{}: published against ours, {}",
            self.run.name,
            self.cells[0].law.noise_words()
        ))
        .text(
            "Error × epsilon (the same for every epsilon if the error scales as 1/epsilon), and \
             z = (published - our mean) / standard deviation of one of our releases.",
        )
        .table(table)
        .list(notes.collect())
    }

    /// Whether two published figures of one column and level, at the smallest and the largest budget, scale as ours do;
    /// what is to be said if not.
    fn scaling(&self, method: &str, [their_low, their_high]: [&Theirs; 2]) -> Option<String> {
        let (low, high, level) = (their_low.epsilon, their_high.epsilon, their_low.level);
        let (our_low, our_high) = (self.ours(method, level, low)?, self.ours(method, level, high)?);
        let their_factor = high * their_high.value / (low * their_low.value);
        let (a, b) = (our_high.l1_normalised, our_low.l1_normalised);
        let our_factor = high * a.mean / (low * b.mean);
        let se = our_factor * libm::hypot(a.standard_error / a.mean, b.standard_error / b.mean);
        let spread = |line: &LevelRow| line.deviation() / line.l1_normalised.mean;
        let noise = libm::hypot(spread(our_low), spread(our_high));
        let z = libm::log(their_factor / our_factor) / noise;
        // Of few nodes a release's error varies by its own size, and one ratio says nothing.
        (noise < 0.3 && z.abs() > 5.0).then(|| {
            format!(
                "{}, {}: from epsilon {low} to {high} error × epsilon changes by the factor \
                 {their_factor:.2}; under `{method}` by {}. Between two single releases of that law the factor \
                 has a relative standard deviation of {noise:.3}: the published one lies {z:+.1} of them away. \
                 Another sensitivity or split multiplies both figures alike (exactly so for Laplace noise \
                 and equalities), so it cannot explain this.",
                their_low.column.1,
                self.run.level(level),
                with_error(Estimate { mean: our_factor, standard_error: se })
            )
        })
    }
}

/// The levels of every cell, and the published figures beside.
pub(in super::super) fn records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<LevelRow>("errors", "l1_error.csv", runs);
    records.header.insert(0, "source".into());
    let mut theirs = Vec::new();
    for run in runs {
        for figure in published(run)? {
            let mut row = Map::new();
            row.insert("source".into(), published::PUBLISHED_ROW.into());
            row.insert("run".into(), run.name.as_str().into());
            row.insert("law".into(), figure.laws.join("|").into());
            row.insert("method".into(), figure.column.1.into());
            row.insert("epsilon".into(), figure.epsilon.into());
            row.insert("level".into(), figure.level.into());
            row.insert("l1_normalised".into(), figure.value.into());
            theirs.push(row);
        }
    }
    let ours = records.with(|row| drop(row.insert("source".into(), "run".into())));
    Ok(ours.and(theirs))
}
