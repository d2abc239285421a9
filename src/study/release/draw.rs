//! A cell that draws its releases.

use super::config::recorded;
use crate::Result;
use crate::grid::{Cell, Plan, refused};
use crate::methods::Draws;

/// Everything of a cell that does not depend on the replicate. Errors: what its method does not serve.
pub(in crate::study) fn prepare(plan: &Plan, cell: &Cell) -> Result<Box<dyn Draws>> {
    let mut problem = cell.problem(&plan.subject);
    problem.streams.records = recorded(cell);
    cell.at.method.prepare(&problem)
}

/// The plan with what mechanisms of one's own say that they pay. Errors: one that does not serve a cell.
pub(in crate::study) fn with_own(mut plan: Plan) -> crate::failure::Result<Plan> {
    for number in 0..plan.cells.len() {
        let cell = &plan.cells[number];
        // It may differ from the one before in its master seed alone.
        let before = number.checked_sub(1).map(|before| &plan.cells[before]);
        if let Some(same) = before.filter(|before| before.streams == cell.streams) {
            plan.cells[number].pays = same.pays;
        } else if cell.at.method.own().is_some() {
            let ready = prepare(&plan, cell);
            let ready = ready.map_err(|error| refused(&plan.config, cell.at.method, &error.to_string()))?;
            plan.cells[number].pays = ready.pays();
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::*;
    use crate::catalogue::{LawKind, Method, MethodKind, NONNEGATIVE_KEY};
    use crate::config::Point;
    use crate::engine::Pool;
    use crate::input::CsvTable;
    use crate::methods::Out;
    use crate::methods::{On, OnTree, Problem};
    use crate::oracle::trees::MOST_STEPS;
    use crate::study::release::Outcome;
    use crate::study::{Document, read};
    use crate::verify::judge;
    use std::path::Path;

    /// A tree of three levels below the root.
    fn plan(families: &[usize]) -> Plan {
        let text = "name = \"n\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"t.csv\"\nlevels = [\"a\", \"b\", \"c\"]\ncount = \"count\"\n\
                    [[grid]]\nepsilon = 0.8\nlaw = \"double-geometric\"\nmethod = \"exact\"\n";
        let Ok(Document::Grid(mut config)) = read(Path::new("c.toml"), text, &[]) else { panic!("a config") };
        let mut table = "a,b,c,count\n".to_owned();
        for (family, &leaves) in families.iter().enumerate() {
            (0..leaves).for_each(|leaf| {
                table += &format!("{},{family},{leaf},{}\n", family / 2, 7 * (family + leaf) % 5)
            });
        }
        let table = CsvTable::from_reader(Path::new("t.csv"), table.as_bytes()).expect("a table");
        Plan::on(config.remove(0), table).expect("a plan")
    }

    fn cells(plan: &Plan) -> Vec<Cell> {
        let of = |kind: MethodKind| {
            kind.with(|option| (option.key == NONNEGATIVE_KEY).then(|| option.default()).flatten())
        };
        let methods = ["unconstrained", "exact", "l2", "topdown", "bluedown"]
            .map(|name| of(MethodKind::named(name).expect("a method")));
        let base = &plan.cells[0];
        let mut cells = Vec::new();
        for law in [LawKind::DoubleGeometric, LawKind::DiscreteGaussian, LawKind::Laplace, LawKind::Gaussian]
        {
            let delta = law.needs_delta().then_some(1e-3);
            let with = |&method: &Method| {
                Cell { at: Point { law, delta, ..base.at.clone() }, ..base.clone() }
                    .with(method, &plan.subject)
            };
            cells.extend(methods.iter().map(with));
        }
        cells
    }

    /// `most`: children of a piece.
    fn rows(plan: &Plan, cell: &Cell, most: usize, replicates: u64, threads: usize) -> Rows {
        let problem = cell.problem(&plan.subject);
        let On::Tree(tree) = problem.place else { panic!("a tree") };
        let place = On::Tree(OnTree { piece: Some(most), ..tree });
        let releases = cell.at.method.prepare(&Problem { place, ..problem }).expect("a cell");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut rows = Rows::default();
        let mut draw = || releases.draw(0..replicates, &mut Out { crew: &Pool, sink: &mut rows });
        pool.install(&mut draw).expect("releases");
        rows
    }

    /// Releases of a tree in the smallest pieces against the oracles of whole ones, at the level 1e-6 over all comparisons.
    #[test]
    fn pieces_have_the_law() {
        let plan = plan(&[2, 4, 1, 3]);
        let mut least = f64::INFINITY;
        let mut compared = 0;
        for cell in cells(&plan) {
            let outcome = Outcome { rows: rows(&plan, &cell, 2, 4000, 1), ..Outcome::default() };
            let comparisons = judge(&cell, &plan.subject, &outcome, MOST_STEPS).expect("an oracle");
            for comparison in comparisons {
                least = least.min(comparison.p);
                compared += 1;
                assert!(comparison.p > 1e-8, "{}: {comparison:?}", cell.words());
            }
        }
        assert!(compared > 100 && least < 1.0, "{compared}");
    }

    /// Rows do not depend on the number of threads.
    #[test]
    fn rows_depend_on_no_threads() {
        let plan = plan(&[3; 40]);
        for cell in cells(&plan) {
            let [one, two, three] = [1, 2, 3].map(|threads| rows(&plan, &cell, 8, 5, threads));
            let drawn = one.errors.iter().all(|row| row.level < 4 || row.l1 > 0.0);
            assert!(one.errors.len() == 20 && drawn);
            assert!(one == two && one == three, "{}", cell.words());
        }
    }

    /// A tree that fits into one piece a level has the rows of one stream.
    #[test]
    fn small_trees_are_whole() {
        let plan = plan(&[3; 40]);
        for cell in cells(&plan) {
            let [whole, same, cut] = [1000, 120, 119].map(|piece| rows(&plan, &cell, piece, 2, 1));
            assert_eq!(whole, same);
            // Sums of reals from below are drawn at once in any tree.
            let is_whole = cell.at.law == LawKind::Laplace && cell.at.method.kind() == MethodKind::EXACT;
            assert_eq!(whole == cut, is_whole, "{}", cell.words());
        }
    }
}
