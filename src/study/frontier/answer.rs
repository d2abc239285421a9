//! The first answer: the error of a count, method by method, for a loss that all of them pay; and in words who wins where.

use super::curve::{APART, Curve, Point, axes, contests};
use super::page::figures;
use crate::catalogue::what;
use crate::diagnostics::{Estimate, Pair};
use crate::failure::Result;
use crate::page::{Number, Page, Pivot, Table, brief, counted, distinct, replicates};
use crate::privacy::{Change, ChangeKind, Measure, Price, Rho};
use crate::study::cells::{Releases, statements};
use crate::study::tell::records::{FAILED, Named};
use crate::table::Key;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The columns of the table, behind those that say what a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Level(u32),
    Negative,
    Pays,
}

/// The curves of one measure, and what their cells pay.
struct Answer<'a> {
    run: &'a Named,
    change: ChangeKind,
    measure: Measure,
    curves: &'a [&'a Curve],
    prices: HashMap<Key, Price>,
    /// The places of the curves whose releases are of one kind.
    kinds: BTreeMap<Releases, Vec<usize>>,
    paid: Vec<f64>,
    levels: Vec<u32>,
}

/// The answer of a run to its question, of the curves of one measure.
pub(super) fn page(run: &Named, change: ChangeKind, measure: Measure, curves: &[&Curve]) -> Result<Page> {
    let price = |(cell, changes): (Key, Vec<(ChangeKind, Change)>)| {
        let own = changes.into_iter().find(|(kind, _)| *kind == change);
        own.and_then(|(_, change)| Some((cell, change.price()?.clone())))
    };
    let prices = statements(&run.run)?.into_iter().filter_map(price).collect();
    let mut kinds: BTreeMap<Releases, Vec<usize>> = BTreeMap::new();
    for (i, curve) in curves.iter().enumerate() {
        kinds.entry(curve.cell().releases()).or_default().push(i);
    }
    let (paid, levels) = axes(curves);
    Ok(Answer { run, change, measure, curves, prices, kinds, paid, levels }.page())
}

impl Answer<'_> {
    fn page(&self) -> Page {
        let (least, drawn) = replicates(self.points().map(|(_, point)| point.level.replicates));
        let equal = self.measure.short();
        let title = format!(
            "{}: mean error of a count, at equal {} for {}",
            self.run.name,
            self.measure.words(),
            self.change.words()
        );
        let mut about = format!(
            "Each method pays the same {equal} ({}) with all of its noise together. Mean of |released - confidential| over \
             the counts of a level ± standard error of {drawn} replicates.",
            self.measure.name()
        );
        if self.points().any(|(_, point)| self.pays(point).starts_with('<')) {
            about += " <=: only a bound is known; what is released may pay less.";
        }
        let compared = least > 1 && self.kinds.values().any(|curves| curves.len() > 1);
        let stars = match compared {
            true => format!(
                "*: the smallest error of its {equal} and level among releases of one kind, or less than 3 standard errors \
                 away from it. negative: the share of released counts that are below 0."
            ),
            false => "negative: the share of released counts that are below 0.".into(),
        };
        let figures = figures(self.run, self.change, self.measure, self.curves);
        let page = Page::main(title).list(if compared { self.conclusions() } else { Vec::new() });
        figures
            .into_iter()
            .fold(page, Page::figure)
            .text(about)
            .table(self.table(compared))
            .text(stars)
            .list(self.key())
    }

    /// All points, with the places of their curves.
    fn points(&self) -> impl Iterator<Item = (usize, &Point)> {
        self.curves.iter().enumerate().flat_map(|(i, curve)| curve.points.iter().map(move |point| (i, point)))
    }

    /// What the releases of a curve are.
    fn kind(&self, curve: usize) -> Releases {
        self.curves[curve].cell().releases()
    }

    /// What a point pays, short.
    fn pays(&self, point: &Point) -> String {
        let price = self.prices.get(&point.cell.cell);
        match (self.measure, price) {
            (Measure::Epsilon, Some(price)) => price.short(),
            (_, Some(Price { rho: Rho::OfNoise(_), .. })) => format!("<= {}", point.own.paid),
            (_, Some(_)) => point.own.paid.to_string(),
            (_, None) => "-".into(),
        }
    }

    /// The curves of a kind that no other of it beats at a level and a loss.
    fn best(&self, kind: Releases, level: u32, paid: f64) -> BTreeSet<usize> {
        let here = |curve: usize| Some((curve, self.curves[curve].at(level, paid)?.error()));
        let errors: Vec<(usize, Estimate)> =
            self.kinds.get(&kind).into_iter().flatten().copied().filter_map(here).collect();
        let least = errors.iter().map(|(_, error)| *error).min_by(|a, b| a.mean.total_cmp(&b.mean));
        let is_best = |error: Estimate, least: Estimate| {
            Pair { at: paid, first: least, second: error }.sign(APART) >= 0
        };
        errors
            .iter()
            .filter(|(_, error)| least.is_some_and(|least| is_best(*error, least)))
            .map(|one| one.0)
            .collect()
    }

    /// Losses and methods by level.
    fn table(&self, compared: bool) -> Table {
        let line = |curve: usize, paid: f64| (Number(paid), self.kind(curve), curve);
        let errors = self.points().map(|(i, point)| {
            (line(i, point.own.paid), Column::Level(point.level.level), brief(point.error()))
        });
        let lines = || {
            self.curves.iter().enumerate().flat_map(|(i, curve)| {
                let drawn = curve.points.iter().map(|point| point.own.paid);
                distinct(drawn.chain(curve.failed.iter().copied())).into_iter().map(move |paid| (i, paid))
            })
        };
        let whole = lines().filter_map(|(i, paid)| {
            let point = self.curves[i].drawn(paid)?;
            Some([
                (line(i, paid), Column::Negative, self.negative(i, paid)),
                (line(i, paid), Column::Pays, self.pays(point)),
            ])
        });
        let keys = lines().map(|(i, paid)| line(i, paid));
        Pivot::of(errors.chain(whole.flatten())).and_keys(keys, []).table(
            [self.measure.short(), "releases", "method"],
            |&(Number(paid), kind, curve)| {
                let own = self.curves[curve];
                let cell = own.drawn(paid).map_or(own.cell(), |point| &point.cell);
                [paid.to_string(), kind.words().into(), cell.method_bare() + &own.apart]
            },
            |column| match *column {
                Column::Level(level) => [self.head(level)],
                Column::Negative => ["negative".into()],
                Column::Pays => ["pays".into()],
            },
            |&(Number(paid), kind, curve), column, line| {
                let several = compared && self.kinds.get(&kind).is_some_and(|curves| curves.len() > 1);
                let star = match *column {
                    Column::Level(level) if several && self.best(kind, level, paid).contains(&curve) => " *",
                    _ => "",
                };
                [match line.get(column) {
                    Some(words) => format!("{words}{star}"),
                    None if self.curves[curve].failed.contains(&paid) => FAILED.into(),
                    None => "-".into(),
                }]
            },
        )
    }

    /// The name of a level, and how many counts it has.
    fn head(&self, level: u32) -> String {
        let nodes = self
            .points()
            .find(|(_, point)| point.level.level == level)
            .map_or(0, |(_, point)| point.level.nodes);
        format!("{}\n({})", self.run.level(level), counted(nodes as f64, "count"))
    }

    /// The share of the counts of a release that are below 0. Its standard error is at most the sum of those of the levels.
    fn negative(&self, curve: usize, paid: f64) -> String {
        let here = || {
            self.curves[curve].points.iter().filter(|point| point.own.paid == paid).map(|point| &point.level)
        };
        if self.curves[curve].cell().nonnegative {
            return "0".into();
        }
        let nodes: u64 = here().map(|level| level.nodes).sum();
        let sum = |of: fn(&Estimate) -> f64| {
            100.0 * here().map(|level| of(&level.negative)).sum::<f64>() / nodes as f64
        };
        let share = Estimate { mean: sum(|x| x.mean), standard_error: sum(|x| x.standard_error) };
        match share.mean {
            0.0 => "0".into(),
            _ => format!("{} %", brief(share)),
        }
    }

    /// On which of several levels most of a curve's counts are below 0.
    fn most_negative(&self, curve: usize, paid: f64) -> String {
        let levels =
            self.levels.iter().filter_map(|&level| Some((level, &self.curves[curve].at(level, paid)?.level)));
        let shares = levels.map(|(level, row)| (level, 100.0 * row.negative.mean / row.nodes as f64));
        match shares.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((level, share)) if self.levels.len() > 1 && share > 0.0 => {
                format!(", {share:.2} % of those at {}", self.run.level(level))
            }
            _ => String::new(),
        }
    }

    /// Who wins where, kind by kind, and by how much a count is off.
    fn conclusions(&self) -> Vec<String> {
        let named = |curve: usize| format!("`{}`", self.curves[curve].bare().replace('\n', " "));
        let mut out: Vec<String> = Vec::new();
        for (&kind, curves) in
            self.kinds.iter().rev().filter(|(kind, curves)| **kind != Releases::Free && curves.len() > 1)
        {
            out.push(format!("{}: {}.", capital(kind.words()), self.winners(kind, curves, &named)));
        }
        out.extend(self.sizes(&named));
        out
    }

    /// Which curves of a kind are best, level by level.
    fn winners(&self, kind: Releases, curves: &[usize], named: &dyn Fn(usize) -> String) -> String {
        let all: Vec<Vec<(f64, BTreeSet<usize>)>> = self
            .levels
            .iter()
            .map(|&level| {
                let best = |&paid: &f64| {
                    Some((paid, self.best(kind, level, paid))).filter(|(_, best)| !best.is_empty())
                };
                self.paid.iter().filter_map(best).collect()
            })
            .collect();
        let everywhere = |curve: &usize| all.iter().flatten().all(|(_, best)| best.contains(curve));
        let or =
            |best: &BTreeSet<usize>| best.iter().map(|&curve| named(curve)).collect::<Vec<_>>().join(" or ");
        let best: BTreeSet<usize> = curves.iter().copied().filter(everywhere).collect();
        if !best.is_empty() {
            let alone = all.iter().flatten().all(|(_, best)| best.len() == 1);
            let (name, loss) = (or(&best), self.measure.short());
            let levels = if self.levels.len() > 1 { "level and " } else { "" };
            return match alone {
                true => format!("{name} has the smallest error at every {levels}{loss}"),
                false => format!("no method has a smaller error than {name}, at any {levels}{loss}"),
            };
        }
        let level = |level: &Vec<(f64, BTreeSet<usize>)>| {
            let runs: Vec<String> = level
                .chunk_by(|a, b| a.1 == b.1)
                .map(|run| match (run[0].0, run[run.len() - 1].0) {
                    _ if run.len() == level.len() => or(&run[0].1),
                    (low, high) if low == high => format!("{} at {low}", or(&run[0].1)),
                    (low, high) => format!("{} from {low} to {high}", or(&run[0].1)),
                })
                .collect();
            runs.join(", ")
        };
        // Levels of one answer together.
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for (&number, words) in self.levels.iter().zip(all.iter().map(level)) {
            let name = self.run.level(number) + &self.crossing(number, curves);
            match told.iter_mut().find(|(other, _)| *other == words) {
                Some((_, names)) => names.push(name),
                None => told.push((words, vec![name])),
            }
        }
        let told = told.into_iter().map(|(words, names)| format!("at {}: {words}", names.join(", ")));
        format!("the smallest error has {}", told.collect::<Vec<_>>().join("; "))
    }

    /// Where the two curves of a kind of two cross once.
    fn crossing(&self, level: u32, curves: &[usize]) -> String {
        let [first, second] = *curves else { return String::new() };
        let pair = [self.curves[first], self.curves[second]];
        let here = contests(&pair).into_iter().find(|contest| contest.level == level);
        match here.as_ref().map(|contest| &contest.crossings[..]) {
            Some([one]) if !one.at.mean.is_nan() => format!(" (they cross at {})", brief(one.at)),
            _ => String::new(),
        }
    }

    /// By how much counts are off with the best method of the strictest kind, at a loss in the middle; and what another kind
    /// gains at some level there.
    fn sizes(&self, named: &dyn Fn(usize) -> String) -> Vec<String> {
        let Some(&paid) = self.paid.get((self.paid.len().max(1) - 1) / 2) else { return Vec::new() };
        let Some(&last) = self.levels.last() else { return Vec::new() };
        let least = |kind: Releases| {
            let best = self.best(kind, last, paid);
            let errors = best
                .into_iter()
                .filter_map(|curve| Some((curve, self.curves[curve].at(last, paid)?.error())));
            errors.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
        };
        let kinds: Vec<Releases> =
            self.kinds.keys().copied().filter(|kind| *kind != Releases::Free).rev().collect();
        let Some((first, curve)) = kinds.iter().find_map(|&kind| least(kind).map(|(curve, _)| (kind, curve)))
        else {
            return Vec::new();
        };
        let off = |curve: usize| {
            let level = |&level: &u32| {
                let point = self.curves[curve].at(level, paid)?;
                let counts = counted(point.level.nodes as f64, "count");
                Some(format!("{} at {} ({counts})", brief(point.error()), self.run.level(level)))
            };
            self.levels.iter().filter_map(level).collect::<Vec<_>>().join(", ")
        };
        let mut out = vec![format!(
            "At {} of {paid}, {} ({}) is off by {} on average.",
            match self.measure.short() {
                "epsilon" => "an epsilon".into(),
                other => format!("a {other}"),
            },
            named(curve),
            first.words(),
            off(curve)
        )];
        for &kind in kinds.iter().filter(|kind| **kind != first) {
            let Some((other, _)) = least(kind) else { continue };
            let negative = self.negative(other, paid);
            let at = |curve: usize, level: u32| self.curves[curve].at(level, paid).map(Point::error);
            let is_smaller = |&level: &u32| {
                let pair = at(other, level).zip(at(curve, level));
                pair.is_some_and(|(first, second)| Pair { at: paid, first, second }.sign(APART) < 0)
            };
            if self.levels.iter().any(is_smaller) && negative != "0" {
                out.push(format!(
                    "{} ({}) is off by {}; {negative} of all its counts are below 0{}.",
                    capital(&named(other)),
                    kind.words(),
                    off(other),
                    self.most_negative(other, paid)
                ));
            }
        }
        out
    }

    /// What each method is.
    fn key(&self) -> Vec<String> {
        let on_tree = self.run.run.manifest.subject != "table";
        let mut lines: Vec<String> = Vec::new();
        for cell in self.curves.iter().map(|curve| curve.cell()) {
            let what = what(cell.method.facts(), on_tree).unwrap_or_default();
            let line = format!("{}: {what}", cell.method_bare_plain());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// Words with a capital at the beginning.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
