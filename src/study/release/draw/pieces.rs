//! A release of a large tree, piece by piece: every piece has a stream of its own, so that threads share one release and no row depends on
//! how many there are.
//!
//! Errors of the last level, nearly all of a tree, stay in the cache of the thread that draws them, unless something is asked of single nodes.

use super::super::errors::Sums;
use super::super::rows::Rows;
use super::hierarchy::Tree;
use crate::catalogue::TreeNoise;
use crate::engine::Pool;
use crate::exact::DownwardSampler;
use crate::imaging::{BlueDown, BlueDownScratch, L2, TopDown, TopDownScratch};
use crate::invariant::{Piece, Pieces, downwards, upwards};
use crate::law::{Sampler, Value};
use crate::rng::{Stream, TaskKey, piece_stream};
use crate::{Error, Result};

/// One release of a tree in pieces.
pub(super) struct InPieces<'a, L: TreeNoise> {
    tree: &'a Tree<L>,
    pieces: &'a Pieces,
    key: TaskKey,
}

impl<'a, L: TreeNoise> InPieces<'a, L> {
    /// `None`: the tree is not cut.
    pub(super) fn of(tree: &'a Tree<L>, key: TaskKey) -> Option<Self> {
        tree.pieces.as_ref().map(|pieces| Self { tree, pieces, key })
    }

    /// The stream of the root.
    fn root_stream(&self) -> Stream {
        piece_stream(self.key, 0, 0)
    }

    /// The root's noise, and its stream behind it for whatever else is random there.
    fn root_noise(&self) -> (L::Value, Stream) {
        let mut rng = self.root_stream();
        (self.tree.samplers[0].draw(&mut rng), rng)
    }

    /// Draws the noise of the children of a piece; returns its stream for whatever else is random there.
    fn noise<V>(&self, piece: &Piece, noise: &mut [V], value: impl Fn(L::Value) -> V) -> Stream {
        let (mut rng, law) = (piece.stream(self.key), &self.tree.samplers[piece.level]);
        noise.iter_mut().for_each(|z| *z = value(law.draw(&mut rng)));
        rng
    }

    /// Independent noise on all nodes.
    pub(super) fn fill(&self, noise: &mut [L::Value]) {
        noise[0] = self.tree.samplers[0].draw(&mut self.root_stream());
        let below = |piece: &Piece, _: &[L::Value], (): &mut (), out: &mut [L::Value]| {
            self.noise(piece, out, |z| z);
        };
        downwards(self.pieces, &Pool, noise, below, |_, _, _| ());
    }

    pub(super) fn unconstrained(&self, rows: &mut Rows) -> Result<()> {
        let root = self.tree.samplers[0].draw(&mut self.root_stream());
        self.release(root, false, rows, |piece, _, (): &mut (), out| {
            self.noise(piece, out, |z| z);
        })
    }

    pub(super) fn exact<S: DownwardSampler<Value = L::Value>>(
        &self,
        sampler: &S,
        rows: &mut Rows,
    ) -> Result<()> {
        let root = sampler.root_noise(&mut self.root_stream());
        self.release(root, S::ROUNDS, rows, |piece, above, scratch, out| {
            sampler.below(piece, above, &mut piece.stream(self.key), scratch, out);
        })
    }

    /// Noise of the estimates of all nodes above the last level from their subtrees.
    fn estimates(&self, l2: &L2) -> Vec<f64> {
        let mut noise = vec![0.0; self.pieces.last_start()];
        noise[0] = self.tree.samplers[0].draw(&mut self.root_stream()).to_f64();
        let upper = (1..self.pieces.levels() - 1).flat_map(|level| self.pieces.level(level));
        upper.for_each(|piece| {
            self.noise(piece, &mut noise[piece.children.clone()], Value::to_f64);
        });
        l2.estimate(self.pieces, &Pool, &mut noise, |piece, noise| {
            self.noise(piece, noise, Value::to_f64);
        });
        noise
    }

    /// Noise of the estimates of the children of a piece, and its stream behind its noise. That of the last level is drawn again.
    fn estimates_of(&self, piece: &Piece, estimates: &[f64], out: &mut [f64]) -> Stream {
        let rng = self.noise(piece, out, Value::to_f64);
        if let Some(kept) = estimates.get(piece.children.clone()) {
            out.copy_from_slice(kept);
        }
        rng
    }

    pub(super) fn l2(&self, l2: &L2, rows: &mut Rows) -> Result<()> {
        let estimates = self.estimates(l2);
        self.release(estimates[0], true, rows, |piece, above, (): &mut (), out| {
            self.estimates_of(piece, &estimates, out);
            l2.spread(piece, above, out);
        })
    }

    pub(super) fn topdown(&self, topdown: &TopDown, rows: &mut Rows) -> Result<()> {
        let counts = &self.tree.counts;
        let (noise, mut rng) = self.root_noise();
        let root = topdown.root(L::Value::from_count(counts[0]) + noise, &mut rng) - counts[0];
        type Scratch<V> = (Vec<V>, Vec<i64>, TopDownScratch<V>);
        self.release(root, false, rows, |piece, above, scratch: &mut Scratch<L::Value>, out| {
            let (noisy, totals, scratch) = scratch;
            noisy.resize(out.len(), L::Value::default());
            let mut rng = self.noise(piece, noisy, |z| z);
            let own = &counts[piece.children.clone()];
            noisy.iter_mut().zip(own).for_each(|(y, &x)| *y += L::Value::from_count(x));
            self.counts_of(piece, above, totals);
            topdown.below(piece, totals, noisy, &mut rng, scratch, out);
            out.iter_mut().zip(own).for_each(|(y, x)| *y -= x);
        })
    }

    pub(super) fn bluedown(&self, bluedown: &BlueDown, rows: &mut Rows) -> Result<()> {
        let counts = &self.tree.counts;
        let estimates = self.estimates(bluedown.estimates());
        let (_, mut rng) = self.root_noise();
        let root = bluedown.root(counts[0], estimates[0], &mut rng) - counts[0];
        type Scratch = (Vec<f64>, Vec<i64>, BlueDownScratch);
        self.release(root, false, rows, |piece, above, scratch: &mut Scratch, out| {
            let (noisy, totals, scratch) = scratch;
            noisy.resize(out.len(), 0.0);
            let mut rng = self.estimates_of(piece, &estimates, noisy);
            let own = &counts[piece.children.clone()];
            noisy.iter_mut().zip(own).for_each(|(y, &x)| *y += x as f64);
            self.counts_of(piece, above, totals);
            bluedown.below(piece, totals, noisy, &mut rng, scratch, out);
            out.iter_mut().zip(own).for_each(|(y, x)| *y -= x);
        })
    }

    /// The released counts of the parents of a piece, from their errors.
    fn counts_of(&self, piece: &Piece, errors: &[i64], totals: &mut Vec<i64>) {
        totals.clear();
        totals.extend(self.tree.counts[piece.parents.clone()].iter().zip(errors).map(|(x, z)| x + z));
    }

    /// Draws the errors of a release from the root's down, checks it against its invariant, and adds its rows.
    ///
    /// - `summed`: whether parents are to be the sums of what is released, to the last rounding.
    /// - `below`: of a piece and the errors of its parents, those of its children.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    fn release<V: Value, S: Default>(
        &self,
        root: V,
        summed: bool,
        rows: &mut Rows,
        below: impl Fn(&Piece, &[V], &mut S, &mut [V]) + Send + Sync,
    ) -> Result<()> {
        let Self { tree, pieces, key } = *self;
        let hierarchy = &tree.hierarchy;
        let kept = if rows.is_asked() { hierarchy.nodes() } else { pieces.last_start() };
        let mut errors = vec![V::default(); kept];
        errors[0] = root;
        let seen = |piece: &Piece, above: &mut [V], below: &[V]| {
            if summed {
                hierarchy.sum_piece(piece, above, below);
            }
            (self.check(piece, above, below), Sums::of(below))
        };
        let last = downwards(pieces, &Pool, &mut errors, below, seen);
        let mut levels = vec![last];
        levels.extend(upwards(pieces, &Pool, &mut errors, seen));
        let root = &errors[..1];
        levels.push(vec![(self.check_nonnegative(0, root), Sums::of(root))]);
        levels.reverse();
        let check = levels.iter().flatten().find_map(|(check, _)| check.clone().err());
        if let Some(error) = check.as_ref().filter(|_| tree.promised) {
            return Err(error.clone());
        }
        for (level, own) in (1..).zip(levels) {
            let sums: Sums = own.into_iter().map(|(_, sums)| sums).sum();
            rows.errors.push(sums.row(key, level, check.is_none()));
        }
        rows.answer(key.replicate, &errors);
        Ok(())
    }

    /// Checks a piece against the invariant. Errors: the first node that breaks it.
    fn check<V: Value>(&self, piece: &Piece, above: &[V], below: &[V]) -> Result<()> {
        self.tree.hierarchy.check_piece(piece, &self.tree.counts, above, below)?;
        self.check_nonnegative(piece.children.start, below)
    }

    /// Checks that no released count is negative, where that is promised; `first`: the first node. Errors: the first that is.
    fn check_nonnegative<V: Value>(&self, first: usize, errors: &[V]) -> Result<()> {
        if !self.tree.nonnegative {
            return Ok(());
        }
        let released = (first..).zip(errors).map(|(v, &z)| (v, V::from_count(self.tree.counts[v]) + z));
        match released.into_iter().find(|&(_, y)| y < V::default()) {
            None => Ok(()),
            Some((v, y)) => Err(Error::violated(format!("node {v}"), y)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hierarchy::prepare_cut;
    use super::*;
    use crate::catalogue::{LawKind, Method, MethodKind, NONNEGATIVE_KEY};
    use crate::grid::{Cell, Plan};
    use crate::input::{CsvTable, HierarchyTable, Subject};
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
        let methods: [Method; 5] = [
            MethodKind::Unconstrained,
            MethodKind::Exact,
            MethodKind::L2,
            MethodKind::TopDown,
            MethodKind::BlueDown,
        ]
        .map(of);
        let base = &plan.cells[0];
        let mut cells = Vec::new();
        for law in [LawKind::DoubleGeometric, LawKind::DiscreteGaussian, LawKind::Laplace, LawKind::Gaussian]
        {
            let delta = law.needs_delta().then_some(1e-3);
            let with = |&method: &Method| Cell { law, delta, ..base.clone() }.with(method, &plan.subject);
            cells.extend(methods.iter().map(with));
        }
        cells
    }

    fn tree(plan: &Plan) -> &HierarchyTable {
        let Subject::Hierarchy(table) = &plan.subject else { panic!("a tree") };
        table
    }

    /// `most`: children of a piece.
    fn rows(plan: &Plan, cell: &Cell, most: usize, replicates: u64, threads: usize) -> Rows {
        let pieces = Pieces::cut(&tree(plan).hierarchy, most);
        let releases = prepare_cut(cell, (cell.seed, cell.streams), tree(plan), pieces).expect("a cell");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut rows = Rows::default();
        pool.install(|| releases.replicates(0..replicates, &mut rows)).expect("releases");
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
            let is_whole = cell.law == LawKind::Laplace && cell.method.kind() == MethodKind::Exact;
            assert_eq!(whole == cut, is_whole, "{}", cell.words());
        }
    }
}
