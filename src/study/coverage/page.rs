//! Which release is worth most to somebody who infers from it: the intervals that hold, and how long they are.

use super::{ClassRow, CoverageRow, Reading};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Number, Page, Pivot, Table, brief, grouped, replicates, thousands};
use crate::privacy::{ChangeKind, Measure};
use crate::study::cells::CellRow;
use crate::study::frontier::FrontierRow;
use crate::study::tell::records::Named;
use crate::table::Key;
use std::collections::HashMap;

/// Standard errors by which a share has to be below the level before the intervals are said to hold less.
const APART: f64 = 3.0;

/// A row, with its cell and what that pays.
#[derive(Clone, Copy)]
struct Line<'a> {
    cell: &'a CellRow,
    paid: f64,
    row: &'a CoverageRow,
}

impl Line<'_> {
    /// Whether its intervals hold what they are to, as far as the releases can tell.
    fn holds(&self) -> bool {
        let Estimate { mean, standard_error } = self.row.coverage;
        let error = if standard_error.is_nan() { 0.0 } else { standard_error };
        self.row.guaranteed || mean + APART * error >= self.row.level
    }

    /// What is compared: method, noise and how releases are read.
    fn key(&self) -> (String, String, Reading) {
        (self.cell.method_words(), self.noise(), self.row.intervals)
    }

    fn noise(&self) -> String {
        format!("{}{}", self.cell.law.name(), self.cell.said_but(&[]))
    }
}

/// What one page tells: lines of one kind of loss.
struct Told<'a> {
    run: &'a Named,
    classes: &'a HashMap<u32, ClassRow>,
    change: ChangeKind,
    measure: Measure,
    lines: Vec<Line<'a>>,
    /// What is compared, in the order of the config.
    kinds: Vec<(String, String, Reading)>,
}

/// The page of a run. Errors: its tables.
pub(super) fn of(run: &Named) -> Result<Page> {
    let mut paid: HashMap<Key, FrontierRow> = HashMap::new();
    run.run.each(|row: FrontierRow| {
        paid.insert(row.cell, row);
        Ok(())
    })?;
    let data = run.printed.first().map_or("", |cell| &cell.data);
    let rows: Vec<ClassRow> = run.run.all()?;
    let classes: HashMap<u32, ClassRow> =
        rows.into_iter().filter(|class| class.data == data).map(|class| (class.class, class)).collect();
    let cells = run.by_cell(|row: &CoverageRow| row.cell)?;
    let lines = cells.iter().flat_map(|(cell, rows)| {
        let pays = paid.get(&cell.cell);
        rows.iter().filter_map(move |row| Some((pays?, Line { cell, paid: pays?.paid, row })))
    });
    let pages =
        grouped(lines, |(pays, _)| (pays.measure.name(), pays.change.name())).into_iter().map(|lines| {
            let (change, measure) = (lines[0].0.change, lines[0].0.measure);
            let lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
            let kinds =
                grouped(lines.iter(), |line| line.key()).into_iter().map(|same| same[0].key()).collect();
            Told { run, classes: &classes, change, measure, lines, kinds }.page()
        });
    Ok(run.with_failed(pages.collect()))
}

impl Told<'_> {
    fn page(&self) -> Page {
        match self.classes.values().any(|class| !class.coefficient.is_empty()) {
            true => self.of_model(),
            false => self.of_counts(),
        }
    }

    /// What releases say of the coefficients of a model.
    fn of_model(&self) -> Page {
        let (run, change) = (&self.run.name, self.change.words());
        let (_, drawn) = replicates(self.lines.iter().map(|line| line.row.replicates));
        let all = |_: &ClassRow| true;
        let about = format!(
            "Counts are drawn anew from a model for each of {drawn} releases, which pay the same {loss} ({}). Mean length of an \
             interval of a coefficient that is to hold {} of the time. *: the shortest of its {loss} and coefficient among those that \
             hold for every coefficient, as far as the releases tell. In brackets: what holds less here, and what it holds.",
            self.measure.name(),
            percent(self.lines[0].row.level),
            loss = self.measure.short(),
        );
        let title = format!(
            "{run}: the shortest intervals of coefficients that hold, at equal {} for {change}",
            self.measure.words()
        );
        Page::main(title)
            .text(about)
            .table(self.shortest(&all))
            .list(self.answers(&all).into_iter().chain(self.failures()).chain(self.without()).collect())
            .text(
                "likelihood: profile intervals by the exact likelihood of the release, with the counts summed out. as counts: the same \
                 of who takes the released leaves for the counts, those below 0 for 0.",
            )
            .and(self.detail(format!("{run}: coefficients"), &all, &drawn))
    }

    /// What releases say of counts.
    fn of_counts(&self) -> Page {
        let (run, change) = (&self.run.name, self.change.words());
        let (_, drawn) = replicates(self.lines.iter().map(|line| line.row.replicates));
        let about = format!(
            "Each method pays the same {loss} ({}) with all of its noise together. Mean length of an interval that is to hold {} of \
             the time, in counts, over the counts of a level and {drawn} releases. *: the shortest of its {loss} and level among those \
             that hold for every level, size and district, as far as {drawn} releases tell. In brackets: what holds less here, and what \
             it holds.",
            self.measure.name(),
            percent(self.lines[0].row.level),
            loss = self.measure.short(),
        );
        let of_level = |class: &ClassRow| class.level.is_some() && class.size.is_empty();
        let title = format!(
            "{run}: the shortest intervals that hold, at equal {} for {change}",
            self.measure.words()
        );
        let page = Page::main(title)
            .text(about)
            .table(self.shortest(&of_level))
            .list(self.answers(&of_level).into_iter().chain(self.failures()).collect())
            .text(
                "noise: the interval by the law of the noise under the sums, around what is released. Of releases whose error does \
                 not depend on the counts it holds at every table; of others it is what somebody takes who knows the noise alone. \
                 bootstrap: the method is repeated on what is released; it promises nothing. posterior: it holds on average over counts \
                 that follow its prior.",
            );
        let of_size = |class: &ClassRow| !class.size.is_empty();
        let by_size = self.classes.values().find(|class| of_size(class)).map(|class| {
            let heading = format!("{run}: {} by size of the confidential count", class.level_name);
            let figure = self.figure(&of_size, (&format!("{run}-by-size"), &heading));
            self.detail(heading, &of_size, &drawn).figure(figure)
        });
        let of_district = |class: &ClassRow| class.level.is_none();
        let districts = self.classes.values().any(of_district);
        let districts = districts.then(|| self.detail(format!("{run}: districts"), &of_district, &drawn));
        let levels = self.detail(format!("{run}: levels"), &of_level, &drawn);
        [by_size, districts, Some(levels)].into_iter().flatten().fold(page, Page::and)
    }

    /// Whether several kinds of noise are compared.
    fn several(&self) -> bool {
        self.kinds.iter().any(|kind| kind.1 != self.kinds[0].1)
    }

    /// What is compared, in words.
    fn name(&self, line: &Line) -> String {
        let (method, noise, reading) = line.key();
        let with = if self.several() { format!(" with {noise} noise") } else { String::new() };
        let by = match reading {
            Reading::Noise => "its noise",
            Reading::Bootstrap => "a bootstrap",
            Reading::Posterior => "a posterior",
            Reading::Likelihood => "its likelihood",
            Reading::AsCounts => "as counts",
        };
        format!("{method}{with}, read {}{by},", if reading == Reading::AsCounts { "" } else { "by " })
    }

    fn place(&self, line: &Line) -> usize {
        self.kinds.iter().position(|kind| *kind == line.key()).unwrap_or(0)
    }

    /// The lines of some classes.
    fn of<'b>(&'b self, of: &'b dyn Fn(&ClassRow) -> bool) -> impl Iterator<Item = &'b Line<'b>> {
        self.lines.iter().filter(move |line| self.classes.get(&line.row.class).is_some_and(of))
    }

    /// Losses, methods and readings down, classes across. `cells`: what stands in the table of a line, behind the name of the row.
    fn table<'b>(
        &self,
        lines: impl Iterator<Item = &'b Line<'b>>,
        cells: impl Fn(&Line) -> Vec<(&'static str, String)>,
    ) -> Table {
        let rows = lines.flat_map(|line| {
            let (down, class) = ((Number(line.paid), self.place(line)), line.row.class);
            let row = move |(at, (name, text))| ((down.0, down.1, at, name), class, text);
            cells(line).into_iter().enumerate().map(row).collect::<Vec<_>>()
        });
        Pivot::of(rows).table(
            [self.measure.short(), "method", "read by"],
            |(Number(paid), place, _, name)| {
                let (method, noise, _) = &self.kinds[*place];
                let method = if self.several() { format!("{method},\n{noise}") } else { method.clone() };
                [paid.to_string(), method, (*name).to_owned()]
            },
            |class| {
                let class = &self.classes[class];
                let counts = thousands(class.counts as f64);
                let name = if class.size.is_empty() { class.words() } else { class.size.clone() };
                [if class.level.is_some() { format!("{name}\n({counts})") } else { name }]
            },
            |_, class, line| [line.get(class).cloned().unwrap_or("-".into())],
        )
    }

    /// Whether what is compared holds in every class at what is paid.
    fn holds_everywhere(&self, of: &Line) -> bool {
        let same = |line: &&Line| line.paid == of.paid && line.key() == of.key();
        self.lines.iter().filter(same).all(Line::holds)
    }

    /// Whether a line has the shortest intervals of its class among those that hold everywhere at what is paid.
    fn is_shortest(&self, of: &Line) -> bool {
        let same = |line: &&Line| line.paid == of.paid && line.row.class == of.row.class;
        let others = self.lines.iter().filter(same).filter(|line| self.holds_everywhere(line));
        let least = others.map(|line| line.row.length.mean).fold(f64::INFINITY, f64::min);
        self.holds_everywhere(of) && of.row.length.mean <= least * (1.0 + 1e-9)
    }

    /// The lengths of all that hold, the shortest marked.
    fn shortest(&self, of: &dyn Fn(&ClassRow) -> bool) -> Table {
        self.table(self.of(of), |line| {
            let length = plain(line.row.length.mean);
            let text = match line.holds() {
                false => format!("({length}: {})", percent(line.row.coverage.mean)),
                true if self.is_shortest(line) => length + " *",
                true => length,
            };
            vec![(line.row.intervals.name(), text)]
        })
    }

    /// Whose intervals are the shortest, in sentences.
    fn answers(&self, of: &dyn Fn(&ClassRow) -> bool) -> Vec<String> {
        let best = self.of(of).filter(|line| self.is_shortest(line));
        let by_paid = grouped(best, |line| line.paid.to_bits()).into_iter().map(|same| {
            let method = |same: Vec<&Line>| {
                let levels = same.iter().map(|line| self.classes[&line.row.class].words());
                format!("{} for {}", self.name(same[0]), levels.collect::<Vec<_>>().join(", "))
            };
            let paid = same[0].paid;
            let methods: Vec<String> = grouped(same, |line| line.key()).into_iter().map(method).collect();
            (
                Number(paid),
                format!(
                    "At {} {paid} the shortest are those of {}.",
                    self.measure.words(),
                    methods.join("; of ")
                ),
            )
        });
        let mut answers: Vec<(Number, String)> = by_paid.collect();
        answers.sort();
        answers.into_iter().map(|(_, words)| words).collect()
    }

    /// What holds less than it is to, in sentences.
    fn failures(&self) -> Vec<String> {
        let words = |same: Vec<&Line>| {
            let by = |a: &&&Line, b: &&&Line| a.row.coverage.mean.total_cmp(&b.row.coverage.mean);
            let worst = same.iter().min_by(by).copied().unwrap_or(same[0]);
            let class = self.classes.get(&worst.row.class).map_or(String::new(), ClassRow::words);
            format!(
                "{} holds {} in the worst case ({class}, {} {}).",
                self.name(worst),
                percent(worst.row.coverage.mean),
                self.measure.words(),
                worst.paid
            )
        };
        let failing = self.lines.iter().filter(|line| !line.holds());
        grouped(failing, |line| line.key()).into_iter().map(words).collect()
    }

    /// Releases of which a reading says nothing, in sentences.
    fn without(&self) -> Vec<String> {
        let lacks = |line: &&Line| line.row.replicates < line.cell.replicates;
        let words = |same: Vec<&Line>| {
            let (lines, first) = (same.len() as f64, same[0]);
            let share =
                same.iter().map(|line| line.row.replicates as f64 / line.cell.replicates as f64).sum::<f64>();
            let paid = first.paid;
            let (loss, rest) = (self.measure.words(), percent(1.0 - share / lines));
            let name = self.name(first);
            format!(
                "{name} has no maximum, or an interval without an end, in {rest} of the releases ({loss} {paid}): they are left out."
            )
        };
        grouped(self.lines.iter().filter(lacks), |line| (line.key(), line.paid.to_bits()))
            .into_iter()
            .map(words)
            .collect()
    }

    /// Shares, lengths and biases of some classes.
    fn detail(&self, heading: String, of: &dyn Fn(&ClassRow) -> bool, drawn: &str) -> Page {
        let share = |line: &Line| {
            let computed = line.row.coverage_computed;
            let computed = computed.map(|share| ("computed", percent(share).replace(" %", "")));
            let shares = [(line.row.intervals.name(), in_percent(line.row.coverage))];
            shares.into_iter().chain(computed).collect()
        };
        let length = |line: &Line| vec![(line.row.intervals.name(), plain(line.row.length.mean))];
        let page = Page::headed(heading)
            .text(format!(
                "Share that the intervals hold, in % ± standard error of {drawn} releases. computed: by the law of the error."
            ))
            .table(self.table(self.of(of), share))
            .text("Mean length of the intervals.")
            .table(self.table(self.of(of), length));
        // The estimate of a coefficient depends on how a release is read, that of a count does not.
        if self.classes.values().any(|class| !class.coefficient.is_empty()) {
            let bias = |line: &Line| vec![(line.row.intervals.name(), brief(line.row.bias))];
            return page
                .text("Bias: mean of the estimate less the coefficient by which counts were drawn.")
                .table(self.table(self.of(of), bias));
        }
        let bias = |line: &Line| vec![("", brief(line.row.bias))];
        let once = self.of(of).filter(|line| line.row.intervals == Reading::Noise);
        let page = page
            .text("Bias: mean of released - confidential, in counts.")
            .table(without_readings(self.table(once, bias)));
        let posterior = || self.of(of).filter(|line| line.row.intervals == Reading::Posterior);
        if posterior().next().is_none() {
            return page;
        }
        let variance = |line: &Line| vec![("", brief(line.row.variance))];
        page.text("Expected variance of the posterior, in counts squared.")
            .table(without_readings(self.table(posterior(), variance)))
    }

    /// What the intervals hold by class, a panel for each loss.
    fn figure(&self, of: &dyn Fn(&ClassRow) -> bool, (name, title): (&str, &str)) -> Figure {
        let mut across: Vec<u32> = self.of(of).map(|line| line.row.class).collect();
        across.sort_unstable();
        across.dedup();
        let series = |same: Vec<&Line>| {
            let (method, noise, reading) = same[0].key();
            let mark = |line: &&Line| {
                let place = across.iter().position(|class| *class == line.row.class).unwrap_or(0);
                Mark::new(line.row.coverage.mean, place as f64).estimated(line.row.coverage)
            };
            Series {
                name: format!("{method}, {noise}, by {}", reading.name()),
                kind: Kind::Dots,
                marks: same.iter().map(mark).collect(),
            }
        };
        let panel = |same: Vec<&Line>| Panel {
            title: format!("{} {}", self.measure.words(), same[0].paid),
            series: grouped(same, |line| line.key()).into_iter().map(series).collect(),
        };
        let names = across.iter().map(|class| self.classes[class].size.clone()).collect();
        Figure {
            name: Figure::named(name),
            title: title.to_owned(),
            about: "For every method, and every way to read its releases: the share of the counts of a size that the intervals hold, \
                    with its 95 % interval. The table below has the figures."
                .into(),
            x: Axis::new("share that the intervals hold", Scale::Linear),
            y: Axis::new("confidential count", Scale::Names(names)),
            panels: grouped(self.of(of), |line| line.paid.to_bits()).into_iter().map(panel).collect(),
            note: format!("They are to hold {}.", percent(self.lines[0].row.level)),
        }
    }
}

/// A share with its error, in percent.
fn in_percent(share: Estimate) -> String {
    match share.standard_error > 0.0 {
        true => brief(Estimate { mean: 100.0 * share.mean, standard_error: 100.0 * share.standard_error }),
        false => percent(share.mean).replace(" %", ""),
    }
}

/// A table of what does not depend on how releases are read.
fn without_readings(mut table: Table) -> Table {
    table.keys -= 1;
    table.header.remove(table.keys);
    table.rows.iter_mut().for_each(|row| drop(row.remove(table.keys)));
    table
}

/// A share in percent.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned() + " %"
}

/// A length to three digits.
fn plain(x: f64) -> String {
    match x {
        x if x >= 100.0 => thousands(x),
        x if x >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}
