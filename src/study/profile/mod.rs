//! Profiles: nothing is drawn; what do releases pay, by the whole law of their loss, and several of them together?

mod config;
mod page;

use self::config::{ProfileBlock, ProfileFile, ProfilePart};
use crate::engine::{Drawn, Each, Prepared, Sink};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::page::Page;
use crate::privacy::{ChangeKind, Profile as Curve};
use crate::store::{Run, RunFolder, TableFile};
use crate::study::cells::{self, CellRow, CellTables, FailureRow, Profiles, StatementRow, Statements};
use crate::study::grid::Kind;
use crate::study::kind::{Study, Tables};
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table::{Declared, Key};
use crate::{table, text_value};
use std::ops::Range;

/// The study.
#[derive(Default)]
pub struct Profile;

text_value!(column Figure, |figure: &Figure| figure.name(), Figure::named);

table! {
    /// Study `profile`: one row per cell, possible change, and number of releases.
    pub struct ProfileRow in "profiles.parquet", also serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the change that is paid for, as in `statements.parquet`
        change: String;
        /// releases of the same data that pay together
        releases: u64;
        /// how their losses are known: `computed`, `target` (those of the law at which a chain aims, without what its distance from it
        /// adds), `noise` (those of free noise, which is moved to the invariant), `bounded`; null where nothing bounds them
        known: Option<String>;
        /// the delta at which `charged` and `epsilon` are stated
        at_delta: f64;
        /// what simple accounting charges: pure losses added up, or what follows from rho
        charged: Option<f64>, "nats";
        /// the least epsilon by the whole law of the loss, or `charged` where that is less: at a delta below what the tables of a law
        /// leave out; null where neither is known
        epsilon_at_delta: Option<f64>, "nats";
        /// rho of zero-concentrated privacy: the least of one release by the same law, or where any loss is possible what is stated,
        /// times `releases`; null where neither is known
        rho: Option<f64>;
        /// mu of Gaussian privacy: the least of one release, by the same law, times the square root of `releases`; null where it is
        /// not known
        mu: Option<f64>;
    }
}

/// What a curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// delta against epsilon.
    Delta,
    /// The error of the second kind of a test against that of the first.
    Error,
}

impl Figure {
    const ALL: [Self; 2] = [Self::Delta, Self::Error];

    fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Error => "error",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.name() == name)
    }
}

table! {
    /// Study `profile`: points of curves, each on one row.
    pub struct CurveRow in "curves.parquet", also serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// as in `profiles.parquet`
        change: String;
        /// as in `profiles.parquet`
        releases: u64;
        /// `delta`: of epsilon x the least delta y; `error`: of a test that tells the two tables apart, and errs with the
        /// probability x where there was no change, the least probability y with which it misses the change
        figure: Figure;
        /// see `figure`
        x: f64;
        /// see `figure`
        y: f64;
    }
}

/// Pieces into which a curve is cut.
const PIECES: u32 = 64;
/// Halvings by which errors come close to 0 and to 1.
const HALVINGS: i32 = 24;

/// The rows of a curve, on both figures.
fn points(row: &ProfileRow, curve: &Curve) -> Vec<CurveRow> {
    let of = |figure: Figure, x: f64, y: f64| CurveRow {
        cell: row.cell,
        change: row.change.clone(),
        releases: row.releases,
        figure,
        x,
        y,
    };
    let share = |k: u32| f64::from(k) / f64::from(PIECES);
    let end = row.epsilon_at_delta.unwrap_or_default();
    let delta = (0..=PIECES).map(|k| share(k) * end).map(|x| of(Figure::Delta, x, curve.delta(x)));
    let small = || (7..=HALVINGS).map(|k| libm::ldexp(1.0, -k));
    let mut errors: Vec<f64> =
        (0..=PIECES).map(share).chain(small()).chain(small().map(|x| 1.0 - x)).collect();
    errors.sort_by(f64::total_cmp);
    let error = errors.into_iter().map(|x| of(Figure::Error, x, curve.error_of_second_kind(x)));
    delta.chain(error).collect()
}

impl Kind for Profile {
    type File = ProfileFile;
    type Block = ProfileBlock;

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        Ok(Box::new(Ready { plan, cell: &plan.cells[cell] }))
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(ProfileTables {
            plan,
            cells: CellTables::begin(folder, plan)?,
            profiles: folder.table()?,
            curves: folder.table()?,
        }))
    }

    fn leaves(_: &Plan, _: &Cell) -> Each {
        Each::default()
    }
}

struct Ready<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
}

type Rows = Vec<(ProfileRow, Vec<CurveRow>)>;

impl Prepared for Ready<'_> {
    /// One replicate: everything is computed.
    fn draw(&self, _: Range<u64>) -> (Drawn, crate::Result<()>) {
        let ProfilePart { delta, releases } = ProfilePart::of(&self.plan.config);
        let statements = Statements::new(self.plan);
        let pays = statements.found(self.cell);
        let mut rows = Rows::new();
        for own in Profiles::new(&self.plan.subject, &statements).each(self.cell, &pays) {
            for &releases in releases {
                let composed = own.composed(releases);
                let finite = |x: f64| x.is_finite().then_some(x);
                let row = ProfileRow {
                    cell: Key(self.cell.key),
                    change: own.change.name().to_owned(),
                    releases,
                    known: own.curve.as_ref().map(|(_, known)| known.name().to_owned()),
                    at_delta: *delta,
                    charged: own.charged(*delta, releases),
                    epsilon_at_delta: composed
                        .as_ref()
                        .and_then(|curve| finite(own.epsilon(curve, (*delta, releases)))),
                    rho: own.rho(releases),
                    mu: own.mu(releases),
                };
                let points = composed.map_or(Vec::new(), |curve| points(&row, &curve));
                rows.push((row, points));
            }
        }
        Drawn::all(Ok(rows))
    }

    fn close(&self) -> crate::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// The tables while they are computed.
struct ProfileTables<'a> {
    plan: &'a Plan,
    cells: CellTables<'a>,
    profiles: TableFile<'a, ProfileRow>,
    curves: TableFile<'a, CurveRow>,
}

impl Sink for ProfileTables<'_> {
    fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
        for (row, points) in rows.take::<Rows>()? {
            self.profiles.push(&row)?;
            points.iter().try_for_each(|point| self.curves.push(point))?;
        }
        Ok(())
    }

    fn close(&mut self, number: usize, _: &[u8], error: Option<&str>) -> Result<()> {
        self.cells.close_computed(&self.plan.cells[number], error)
    }
}

impl Tables for ProfileTables<'_> {}

impl Study for Profile {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CellRow>(),
            Declared::of::<StatementRow>(),
            Declared::of::<FailureRow>(),
            Declared::of::<ProfileRow>(),
            Declared::of::<CurveRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        runs.iter().map(page::of).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![
            Records::of_cells::<ProfileRow>("profiles", "profiles.csv", runs),
            Records::of_cells::<CurveRow>("curves", "curves.csv", runs),
        ])
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let mut figures = Figures::new(cells::by_key(run)?, run.all()?);
            run.each(|row: ProfileRow| {
                let change = ChangeKind::ALL.iter().position(|change| change.name() == row.change);
                let number = 3 * row.releases + change.unwrap_or_default() as u64;
                let place = || format!("{} {} releases", row.change, row.releases);
                let figure = row.epsilon_at_delta.unwrap_or(f64::INFINITY);
                figures.add(row.cell, number, place, "epsilon", figure, Sample::computed);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}
