//! Fits against dense quadratic programs, roundings against all integers next to them, releases against what they must keep.

use super::fit::GAP;
use super::rounding::Rounding;
use super::support::Support;
use super::*;
use crate::Alone;
use crate::cube::bounds::Limit;
use crate::cube::nested::Nested;
use crate::cube::{Bound, Domain, Marginal, Query, Zero};
use crate::imaging::FlowScratch;
use crate::rng::{Stream, below, normal};
use crate::testing::test_stream;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT};
use nalgebra::{DMatrix, DVector};

fn number(rng: &mut Stream, from: u64, to: u64) -> usize {
    (from + below(rng, to - from + 1)) as usize
}

fn chance(rng: &mut Stream, one_in: u64) -> bool {
    below(rng, one_in) == 0
}

/// A tree of tables with what is measured of it: the table of every area, and others; some queries that nest are known from the root on to
/// some level.
struct System {
    tree: Hierarchy,
    measurements: Measurements,
    /// By node, by cell.
    truth: Vec<Vec<i64>>,
    /// By node, by query.
    answers: Vec<Vec<Vec<f64>>>,
}

/// How large counts are, and how large and how different the variances of noise.
#[derive(Clone, Copy)]
struct Size {
    counts: i64,
    variance: f64,
    spread: f64,
}

impl System {
    fn random(rng: &mut Stream, levels: u64) -> Self {
        Self::sized(rng, levels, Size { counts: 1, variance: 1.0, spread: 1.5 })
    }

    fn sized(rng: &mut Stream, levels: u64, size: Size) -> Self {
        loop {
            let sizes: Vec<u32> = (0..number(rng, 0, 3)).map(|_| number(rng, 1, 4) as u32).collect();
            let all: Vec<usize> = (0..sizes.len()).collect();
            let mut queries = vec![Query::of(&all), Query::total()];
            let mut groups = Query::total();
            if let Some(attribute) = sizes.iter().position(|size| *size > 2) {
                let others = (1..sizes[attribute]).collect();
                let own = if chance(rng, 2) { vec![vec![0], others] } else { vec![vec![1, 2]] };
                groups = groups.grouping(attribute, own);
            }
            if chance(rng, 2) {
                queries.push(groups);
            }
            for _ in 0..number(rng, 0, 3) {
                queries.push(Query::of(&all.iter().copied().filter(|_| chance(rng, 2)).collect::<Vec<_>>()));
            }
            let mut zeros = Vec::new();
            if sizes.len() > 1 && chance(rng, 3) {
                zeros.push(Zero { of: vec![(0, vec![0]), (1, vec![sizes[1] - 1])] });
            }
            let Ok(domain) = Domain::new(&sizes, &zeros, &queries) else { continue };
            if domain.cells() > 24 {
                continue;
            }
            let mut parents = vec![0];
            let mut last = vec![0];
            for _ in 1..levels {
                let mut below = Vec::new();
                for &v in &last {
                    for _ in 0..number(rng, 1, 4) {
                        below.push(parents.len());
                        parents.push(v);
                    }
                }
                last = below;
            }
            let tree = Hierarchy::from_parents(&parents).unwrap();
            // The total, the groups and the table nest.
            let known: Vec<usize> = (0..queries.len())
                .map(|query| if query < 3 && chance(rng, 3) { number(rng, 0, 4) } else { 0 })
                .collect();
            let variance = |rng: &mut Stream, query: usize, level: usize| match level < known[query] {
                true => Some(0.0),
                false if query > 0 && chance(rng, 3) => None,
                false => Some(size.variance * libm::exp(size.spread * normal(rng))),
            };
            let variances = (0..tree.levels())
                .map(|level| (0..queries.len()).map(|query| variance(rng, query, level)).collect())
                .collect();
            let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
            let measurements = Measurements::new(&domain, marginals, variances).unwrap();
            let mut truth = vec![vec![0i64; domain.cells()]; tree.nodes()];
            for &leaf in tree.leaves() {
                for x in &mut truth[leaf as usize] {
                    *x = if chance(rng, 3) { size.counts * below(rng, 5) as i64 } else { 0 };
                }
            }
            for v in (1..tree.nodes()).rev() {
                let own = truth[v].clone();
                truth[tree.parent(v)].iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
            }
            let mut answers = vec![vec![Vec::new(); queries.len()]; tree.nodes()];
            for (v, answers) in answers.iter_mut().enumerate() {
                for (query, variance) in measurements.of_level(tree.level(v)) {
                    let mut own = vec![0.0; measurements.queries[query].answers()];
                    for (cell, &x) in truth[v].iter().enumerate() {
                        if let Some(answer) = measurements.queries[query].answer_of(&domain, cell) {
                            own[answer] += x as f64;
                        }
                    }
                    own.iter_mut().for_each(|y| *y += libm::sqrt(variance) * normal(rng));
                    answers[query] = own;
                }
            }
            return Self { tree, measurements, truth, answers };
        }
    }

    /// What a node's true table has of the answers of a query.
    fn true_answers(&self, v: usize, query: usize) -> Vec<i64> {
        let marginal = &self.measurements.queries[query];
        let mut own = vec![0; marginal.answers()];
        for (cell, x) in self.truth[v].iter().enumerate() {
            if let Some(answer) = marginal.answer_of(&self.measurements.domain, cell) {
                own[answer] += x;
            }
        }
        own
    }

    /// Bounds of a query that nests with what is known, around the true answers of some areas.
    fn bounds(&self, rng: &mut Stream) -> (usize, Bounds) {
        let query = below(rng, 3.min(self.measurements.queries.len() as u64)) as usize;
        let mut given = Vec::new();
        for v in 0..self.tree.nodes() {
            for (answer, x) in self.true_answers(v, query).into_iter().enumerate() {
                if chance(rng, 2) {
                    let least = if chance(rng, 2) { 0.max(x - below(rng, 3) as i64) } else { 0 };
                    let most = (!chance(rng, 3)).then(|| x + below(rng, 3) as i64);
                    given.push(Bound { area: v, query, answer, least, most });
                }
            }
        }
        let known = |v: usize, out: &mut Answers| {
            for (query, own) in out.of.iter_mut().enumerate().filter(|(_, own)| !own.is_empty()) {
                own.iter_mut().zip(self.true_answers(v, query)).for_each(|(own, x)| *own = x as f64);
            }
        };
        (query, Bounds::new(&self.tree, &self.measurements, &given, known).unwrap())
    }

    /// Rows over the cells of the children of the root, with what they are at most: what bounds say of them.
    fn bounded(&self, query: usize, bounds: &Bounds, n: usize) -> Vec<(DVector<f64>, f64)> {
        let (domain, marginal) = (&self.measurements.domain, &self.measurements.queries[query]);
        let cells = domain.cells();
        let mut rows = Vec::new();
        for (at, v) in self.tree.children(0).enumerate() {
            for own in bounds.of(v) {
                let is_of = |cell| marginal.answer_of(domain, cell) == Some(own.number as usize);
                let row =
                    DVector::from_fn(n, |i, _| f64::from(u8::from(i / cells == at && is_of(i % cells))));
                if own.least > 0 {
                    rows.push((-&row, -own.least as f64));
                }
                if own.most < i64::MAX {
                    rows.push((row, own.most as f64));
                }
            }
        }
        rows
    }

    /// A row over `n` unknowns: of a child of the root, or of all of them, the cells that a cell of a stage counts.
    fn row(&self, stage: &Stage, n: usize, child: Option<usize>, at: usize) -> DVector<f64> {
        let domain = &self.measurements.domain;
        let cells = domain.cells();
        let counted = |cell: usize| match &stage.query {
            None => cell == at,
            Some(query) => query.answer_of(domain, cell) == Some(at),
        };
        DVector::from_fn(n, |i, _| {
            let is_of = i / cells < self.tree.children(0).len()
                && child.is_none_or(|child| child == i / cells)
                && counted(i % cells);
            f64::from(u8::from(is_of))
        })
    }

    /// The least squares with the sums of a stage over the children in the place of those of cells, and what is settled.
    fn of_stage(
        &self,
        whole: &Squares,
        stage: &Stage,
        (support, totals): (&Support, &[i64]),
        known: &[(DVector<f64>, f64)],
    ) -> Squares {
        let mut squares = whole.clone();
        let keep = squares.a.nrows() - self.measurements.domain.cells();
        let mut equations: Vec<(DVector<f64>, f64)> =
            (0..keep).map(|i| (squares.a.row(i).transpose(), squares.b[i])).collect();
        let mut sums = vec![0.0; stage.measurements.domain.cells()];
        support.places.iter().zip(totals).for_each(|(&at, &total)| sums[at as usize] = total as f64);
        let n = whole.g.len();
        equations.extend(sums.iter().enumerate().map(|(at, &sum)| (self.row(stage, n, None, at), sum)));
        equations.extend(known.iter().cloned());
        let (rows, right): (Vec<_>, Vec<f64>) = equations.into_iter().unzip();
        squares.a = DMatrix::from_columns(&rows).transpose();
        squares.b = DVector::from_vec(right);
        squares
    }

    fn measure(&self) -> impl Fn(usize, &mut Answers) + Sync + Send {
        |v, out: &mut Answers| {
            out.of
                .iter_mut()
                .zip(&self.answers[v])
                .filter(|(own, _)| !own.is_empty())
                .for_each(|(own, given)| own.copy_from_slice(given));
        }
    }

    /// By query measured on a node's level: rows over the cells, values, the variance.
    fn rows(&self, v: usize) -> Vec<(DMatrix<f64>, DVector<f64>, f64)> {
        let domain = &self.measurements.domain;
        let of = |(query, variance): (usize, f64)| {
            let marginal = &self.measurements.queries[query];
            let entry = |answer, cell| f64::from(u8::from(marginal.answer_of(domain, cell) == Some(answer)));
            let rows = DMatrix::from_fn(marginal.answers(), domain.cells(), entry);
            (rows, DVector::from_column_slice(&self.answers[v][query]), variance)
        };
        self.measurements.of_level(self.tree.level(v)).map(of).collect()
    }

    /// The least squares of the children of the root that sum to its table, by their own answers or by all below them. Unknowns are the
    /// cells of the children, then those of the nodes below them.
    fn squares(&self, by_subtree: bool) -> Squares {
        let (tree, cells) = (&self.tree, self.measurements.domain.cells());
        let children = tree.children(0);
        let nodes: Vec<usize> =
            if by_subtree { (1..tree.nodes()).collect() } else { children.clone().collect() };
        let n = nodes.len() * cells;
        let (mut p, mut g, mut a, mut b) = (DMatrix::zeros(n, n), DVector::zeros(n), Vec::new(), Vec::new());
        for (at, &v) in nodes.iter().enumerate() {
            for (rows, values, variance) in self.rows(v) {
                if variance > 0.0 {
                    let mut block = p.view_mut((at * cells, at * cells), (cells, cells));
                    block += rows.transpose() * &rows / variance;
                    let mut block = g.rows_mut(at * cells, cells);
                    block += rows.transpose() * &values / variance;
                    continue;
                }
                for (row, value) in rows.row_iter().zip(values.iter()) {
                    let mut whole = DVector::zeros(n);
                    whole.rows_mut(at * cells, cells).copy_from(&row.transpose());
                    a.push(whole);
                    b.push(*value);
                }
            }
            if !tree.is_leaf(v) && by_subtree {
                for cell in 0..cells {
                    let mut whole = DVector::zeros(n);
                    whole[at * cells + cell] = -1.0;
                    tree.children(v).for_each(|child| whole[(child - 1) * cells + cell] = 1.0);
                    a.push(whole);
                    b.push(0.0);
                }
            }
        }
        for cell in 0..cells {
            a.push(DVector::from_fn(n, |i, _| {
                f64::from(u8::from(i < children.len() * cells && i % cells == cell))
            }));
            b.push(self.truth[0][cell] as f64);
        }
        Squares { p, g, a: DMatrix::from_columns(&a).transpose(), b: DVector::from_vec(b) }
    }
}

/// Minimise `xᵀ P x / 2 - gᵀ x` over `A x = b`.
#[derive(Clone)]
struct Squares {
    p: DMatrix<f64>,
    g: DVector<f64>,
    a: DMatrix<f64>,
    b: DVector<f64>,
}

impl Squares {
    fn value(&self, x: &DVector<f64>) -> f64 {
        0.5 * x.dot(&(&self.p * x)) - self.g.dot(x)
    }

    /// The best of all unknowns that meet rows, too; `None`: there are none that do.
    fn meeting(&self, more: &[(DVector<f64>, f64)]) -> Option<DVector<f64>> {
        let Self { p, g, a, b } = self;
        let n = g.len();
        let rows = DMatrix::from_fn(a.nrows() + more.len(), n, |i, j| match i.checked_sub(a.nrows()) {
            None => a[(i, j)],
            Some(own) => more[own].0[j],
        });
        let size = n + rows.nrows();
        let mut system = DMatrix::zeros(size, size);
        system.view_mut((0, 0), (n, n)).copy_from(p);
        system.view_mut((n, 0), (rows.nrows(), n)).copy_from(&rows);
        system.view_mut((0, n), (n, rows.nrows())).copy_from(&rows.transpose());
        let right = DVector::from_fn(size, |i, _| match i.checked_sub(n) {
            None => g[i],
            Some(row) => row.checked_sub(b.len()).map_or_else(|| b[row], |own| more[own].1),
        });
        let x = system.svd(true, true).solve(&right, 1e-10).unwrap().rows(0, n).into_owned();
        ((&rows * &x - right.rows(n, rows.nrows())).amax() < 1e-5).then_some(x)
    }
}

/// Solves it with `x >= 0` for the first `signed`, and rows that are at most something.
fn program(
    Squares { p, g, a, b }: &Squares,
    signed: usize,
    rows: &[(DVector<f64>, f64)],
) -> Option<DVector<f64>> {
    let n = g.len();
    let sparse = |m: &DMatrix<f64>, upper: bool| {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for column in 0..m.ncols() {
            for row in (0..m.nrows()).filter(|&row| m[(row, column)] != 0.0 && (!upper || row <= column)) {
                rows.push(row);
                columns.push(column);
                values.push(m[(row, column)]);
            }
        }
        CscMatrix::new_from_triplets(m.nrows(), m.ncols(), rows, columns, values)
    };
    // Equations that do not depend on each other.
    let svd = a.clone().svd(true, true);
    let (u, vt) = (svd.u.unwrap(), svd.v_t.unwrap());
    let rank: Vec<usize> =
        (0..svd.singular_values.len()).filter(|&i| svd.singular_values[i] > 1e-9).collect();
    let equations = DMatrix::from_fn(rank.len(), n, |i, j| vt[(rank[i], j)]);
    let right = DVector::from_fn(rank.len(), |i, _| u.column(rank[i]).dot(b) / svd.singular_values[rank[i]]);
    let mut all = DMatrix::zeros(rank.len() + signed + rows.len(), n);
    all.view_mut((0, 0), (rank.len(), n)).copy_from(&equations);
    (0..signed).for_each(|i| all[(rank.len() + i, i)] = -1.0);
    let mut right: Vec<f64> = right.iter().copied().collect();
    right.resize(rank.len() + signed, 0.0);
    for (at, (row, most)) in rows.iter().enumerate() {
        all.row_mut(rank.len() + signed + at).copy_from(&row.transpose());
        right.push(*most);
    }
    let cones = [ZeroConeT(rank.len()), NonnegativeConeT(signed + rows.len())];
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-12,
        tol_gap_rel: 1e-12,
        tol_feas: 1e-12,
        direct_solve_method: "qdldl".into(),
        ..DefaultSettings::default()
    };
    let linear: Vec<f64> = g.iter().map(|g| -g).collect();
    let mut solver =
        DefaultSolver::new(&sparse(p, true), &linear, &sparse(&all, false), &right, &cones, settings)
            .unwrap();
    solver.solve();
    // What is almost solved can be far off.
    let is_solved = matches!(solver.solution.status, SolverStatus::Solved);
    is_solved.then(|| DVector::from_column_slice(&solver.solution.x))
}

/// The children of the root by their own answers, and by all answers below them, where the root's table is the true one: no table >= 0 has
/// a smaller sum of squares, and the table is that of the quadratic program of all cells of all nodes.
#[test]
fn fits_are_those_of_dense_quadratic_programs() {
    compare_fits(4210, false);
}

/// Children within bounds of the answers of a query: the quadratic program has these, too.
#[test]
fn fits_within_bounds_are_those_of_dense_quadratic_programs() {
    compare_fits(4214, true);
}

/// What bounds the tables of the root's children, if anything does.
fn limits(descent: &Descent, support: &Support, children: Range<usize>) -> Option<super::limits::Limits> {
    let (bounds, stage) = (descent.bounds.as_ref()?, &descent.stages[0]);
    super::limits::Limits::new(bounds, &stage.numbers, &stage.measurements, support, children).unwrap()
}

fn compare_fits(stream: u64, with_bounds: bool) {
    let mut rng = test_stream(stream);
    let (mut compared, mut better, mut partial, mut known, mut met) = (0, 0, 0, 0, 0);
    let (mut above, mut allowed) = (0.0, 0.0);
    for system in 0..1000 {
        let own = System::random(&mut rng, 2 + u64::from(system % 2 == 1));
        let (tree, cells) = (&own.tree, own.measurements.domain.cells());
        let (children, by_subtree) = (tree.children(0), system % 2 == 1);
        let descent = match by_subtree {
            false => Descent::topdown(tree, own.measurements.clone()),
            true => Descent::bluedown(tree, own.measurements.clone()),
        };
        let mut descent = descent.unwrap();
        let n = if by_subtree { tree.nodes() - 1 } else { children.len() } * cells;
        let mut rows = Vec::new();
        if with_bounds {
            let (query, bounds) = own.bounds(&mut rng);
            rows = own.bounded(query, &bounds, n);
            descent = descent.bounded(bounds).unwrap();
        }
        let mut scratch = DescentScratch::default();
        match &descent.from {
            Source::Own(_) => descent.estimate(children.clone(), &own.measure(), &mut scratch),
            Source::Subtrees(gls) => {
                scratch.estimates = gls.rise(&Alone, usize::MAX, &own.measure()).subtrees[0].1[1].clone()
            }
        }
        let places: Vec<u32> = (0..cells as u32).filter(|&cell| own.truth[0][cell as usize] > 0).collect();
        if places.is_empty() {
            continue;
        }
        let support = Support::of(&own.measurements.domain, &places);
        partial += usize::from(support.cells() < cells);
        let totals: Vec<i64> = support.places.iter().map(|&place| own.truth[0][place as usize]).collect();
        let stage = &descent.stages[0];
        let standing = descent.standing(children.clone(), scratch.estimates);
        let limits = limits(&descent, &support, children.clone());
        let fit = |part| stage.fit(1, &standing, &support, Some(&totals), limits.as_ref(), part).unwrap();
        // The gap is what tables are above the least at most, and no promise beyond.
        let (rough, fit) = (fit(1e-2), fit(1e-9));
        assert!(rough.value - rough.gap <= fit.value * (1.0 + 1e-9) + 1e-9, "system {system}: {rough:?}");
        above += rough.value - fit.value;
        allowed += rough.gap;
        known += usize::from(own.measurements.of_level(1).any(|(_, variance)| variance == 0.0));
        let squares = own.squares(by_subtree);
        let Some(want) = program(&squares, children.len() * cells, &rows) else { continue };
        // What it calls solved can miss the equations.
        let beyond = rows.iter().map(|(row, most)| row.dot(&want) - most).fold(0.0, f64::max);
        if (&squares.a * &want - &squares.b).amax() > 1e-7 || beyond > 1e-7 {
            continue;
        }
        met += rows.iter().filter(|(row, most)| (row.dot(&want) - most).abs() < 1e-6 && *most != 0.0).count();
        let mut got = DVector::zeros(children.len() * cells);
        for (child, table) in fit.tables.chunks_exact(support.cells()).enumerate() {
            assert!(table.iter().all(|x| *x >= 0.0));
            support.places.iter().zip(table).for_each(|(&place, x)| got[child * cells + place as usize] = *x);
        }
        let off = (&got - want.rows(0, got.len())).amax();
        // The solver can end above the least value: then these tables are better, with the best ones of what is below them.
        let unit = |i: usize| DVector::from_fn(squares.g.len(), |j, _| f64::from(u8::from(i == j)));
        let first = || -> Vec<_> { got.iter().enumerate().map(|(i, x)| (unit(i), *x)).collect() };
        let is_better =
            || squares.meeting(&first()).is_some_and(|x| squares.value(&x) < squares.value(&want));
        compared += usize::from(off < 2e-4);
        better += usize::from(off >= 2e-4);
        assert!(off < 2e-4 || is_better(), "system {system}: {off:e} after {} rounds", fit.rounds);
    }
    assert!(
        compared > 700 && better < 10 && partial > 200 && known > 200 && (met > 500) == with_bounds,
        "{compared} {better} {partial} {known} {met}"
    );
    // Tables that miss bounds can be below the least.
    assert!(with_bounds || above > 0.01 * allowed, "{above:e} {allowed:e}");
}

/// Queries that are settled before the tables, if they can be.
fn passing(own: &System, rng: &mut Stream, descent: Descent) -> Option<Descent> {
    let queries = own.measurements.queries.len() as u64;
    let passes: Vec<usize> = (0..number(rng, 1, 2)).map(|_| number(rng, 1, queries - 1)).collect();
    descent.passing(&passes).ok()
}

/// The answers of a query that are settled first are those of the quadratic program in which the cells are free and the answers are not
/// negative; given them the tables are those of the program that has them as equations.
#[test]
fn passes_are_those_of_dense_quadratic_programs() {
    let mut rng = test_stream(4217);
    let (mut compared, mut several) = ([0; 3], 0);
    for system in 0..600 {
        let own = System::random(&mut rng, 2 + u64::from(system % 2 == 1));
        let (tree, cells) = (&own.tree, own.measurements.domain.cells());
        let (children, by_subtree) = (tree.children(0), system % 2 == 1);
        let make = if by_subtree { Descent::bluedown } else { Descent::topdown };
        let descent = make(tree, own.measurements.clone()).unwrap();
        let Some(descent) = passing(&own, &mut rng, descent) else { continue };
        let mut scratch = DescentScratch::default();
        match &descent.from {
            Source::Own(_) => descent.estimate(children.clone(), &own.measure(), &mut scratch),
            Source::Subtrees(gls) => {
                scratch.estimates = gls.rise(&Alone, usize::MAX, &own.measure()).subtrees[0].1[1].clone()
            }
        }
        let mut standing = descent.standing(children.clone(), std::mem::take(&mut scratch.estimates));
        let filled = (0..cells as u32).map(|at| (at, own.truth[0][at as usize])).filter(|own| own.1 > 0);
        let (places, counts) = filled.unzip();
        let parent = Table { places, counts };
        let whole = own.squares(by_subtree);
        let mut known: Vec<(DVector<f64>, f64)> = Vec::new();
        let mut passed = 0;
        for stage in descent.stages.iter().filter(|stage| !stage.is_idle(1)) {
            let table = stage.of(&parent);
            let domain = &stage.measurements.domain;
            if table.places.is_empty() {
                // Nothing is left to settle where nobody is.
                continue;
            }
            let support = Support::of(domain, &table.places);
            let totals = support.counts(&table);
            let fit = stage.fit(1, &standing, &support, Some(&totals), None, 1e-9).unwrap();
            let row = |child: Option<usize>, at: usize| own.row(stage, whole.g.len(), child, at);
            let squares = own.of_stage(&whole, stage, (&support, &totals), &known);
            let signs: Vec<(DVector<f64>, f64)> = (0..children.len())
                .flat_map(|child| (0..domain.cells()).map(move |at| (child, at)))
                .map(|(child, at)| (-row(Some(child), at), 0.0))
                .collect();
            if let Some(want) = program(&squares, 0, &signs) {
                let beyond = signs.iter().map(|(row, _)| row.dot(&want)).fold(0.0, f64::max);
                if (&squares.a * &want - &squares.b).amax() < 1e-7 && beyond < 1e-7 {
                    let mut own = Vec::new();
                    for (child, table) in fit.tables.chunks_exact(support.cells()).enumerate() {
                        let cell = |(&at, x): (&u32, &f64)| (row(Some(child), at as usize), *x);
                        own.extend(support.places.iter().zip(table).map(cell));
                    }
                    let off = own.iter().map(|(row, x)| (row.dot(&want) - x).abs()).fold(0.0, f64::max);
                    let is_better =
                        || squares.meeting(&own).is_some_and(|x| squares.value(&x) < squares.value(&want));
                    assert!(
                        off < 2e-4 || is_better(),
                        "system {system}: {off:e} after {} rounds",
                        fit.rounds
                    );
                    let kind = if stage.query.is_some() { 0 } else { 1 };
                    compared[if off < 2e-4 { kind } else { 2 }] += 1;
                }
            }
            let settled = stage
                .settle((1, children.clone()), Some(&parent), &standing, None, (&mut rng, &mut scratch))
                .unwrap();
            if let Some(query) = &stage.query {
                standing.know(query, &settled.tables, &descent.kinds);
                passed += 1;
                for (child, table) in settled.tables.iter().enumerate() {
                    let mut own = vec![0; domain.cells()];
                    table.places.iter().zip(&table.counts).for_each(|(&at, &x)| own[at as usize] = x);
                    known.extend(own.iter().enumerate().map(|(at, &x)| (row(Some(child), at), x as f64)));
                }
            }
        }
        several += usize::from(passed > 1);
    }
    let [first, then, better] = compared;
    assert!(first > 200 && then > 200 && several > 40 && better < 10, "{compared:?} {several}");
}

/// By set its cells.
fn sets(nested: &Nested, cells: usize) -> Vec<Vec<usize>> {
    let chain = |cell: usize| std::iter::successors(nested.first(cell), |set| nested.above(*set));
    (0..nested.len())
        .map(|set| (0..cells).filter(|&cell| chain(cell).any(|own| own == set)).collect())
        .collect()
}

/// Of all integers next to the tables, none that keep the sums, the sets and what is known are closer.
#[test]
fn roundings_are_the_closest_integers() {
    let mut rng = test_stream(4211);
    let mut scratch = FlowScratch::default();
    let mut several = 0;
    for _ in 0..600 {
        let own = System::random(&mut rng, 2);
        let nested = Descent::topdown(&own.tree, own.measurements.clone()).unwrap().stages.remove(0).nested;
        let support = Support::all(&own.measurements.domain);
        let (m, children) = (support.cells(), number(&mut rng, 1, 4));
        if m * children > 14 {
            continue;
        }
        // Mixtures of integers with the sums and what is known are such tables.
        let has_totals = chance(&mut rng, 2);
        let truth: Vec<i64> = (0..m * children).map(|_| below(&mut rng, 4) as i64).collect();
        let mut tables = vec![0.0; m * children];
        let moves: Vec<Vec<f64>> =
            (0..40).map(|_| truth.iter().map(|&x| x as f64 + normal(&mut rng)).collect()).collect();
        let is_known = nested.known.iter().any(|levels| *levels > 1);
        let share = if is_known { 0.0 } else { 1.0 };
        for own in &moves {
            tables.iter_mut().zip(own).for_each(|(z, x)| *z += x.max(0.0) / 40.0 * share);
        }
        if is_known {
            tables.iter_mut().zip(&truth).for_each(|(z, &x)| *z = x as f64);
        }
        // Whole sums over the children: the last takes what is left.
        let mut totals = vec![0i64; m];
        for (cell, total) in totals.iter_mut().enumerate() {
            let sum: f64 = tables.iter().skip(cell).step_by(m).sum();
            *total = libm::ceil(sum - 1e-9) as i64;
            if has_totals {
                tables[(children - 1) * m + cell] += *total as f64 - sum;
            }
        }
        let totals = has_totals.then_some(&totals[..]);
        let mut out = vec![0i64; m * children];
        Rounding { nested: &nested, support: &support, level: 1, totals, tables: &tables, bounds: &[] }
            .round(&mut rng, &mut scratch, &mut out)
            .unwrap();
        let off = |y: &[i64]| -> f64 { y.iter().zip(&tables).map(|(&y, z)| (y as f64 - z).abs()).sum() };
        let sets = sets(&nested, m);
        let serves = |y: &[i64]| {
            let next = |y: i64, z: f64| {
                (y as f64 - z).abs() < 1.0 - 1e-9
                    || (z - libm::rint(z)).abs() < 1e-7 && y as f64 == libm::rint(z)
            };
            let cells = y.iter().zip(&tables).all(|(&y, &z)| y >= 0 && next(y, z));
            let sums = totals.is_none_or(|totals| {
                (0..m).all(|cell| y.iter().skip(cell).step_by(m).sum::<i64>() == totals[cell])
            });
            let of_child = |(y, z): (&[i64], &[f64])| {
                sets.iter().all(|set| {
                    next(set.iter().map(|&cell| y[cell]).sum(), set.iter().map(|&cell| z[cell]).sum())
                })
            };
            cells && sums && y.chunks(m).zip(tables.chunks(m)).all(of_child)
        };
        assert!(serves(&out), "{tables:?} {out:?} {totals:?}");
        let open: Vec<usize> =
            (0..tables.len()).filter(|&i| (tables[i] - libm::rint(tables[i])).abs() > 1e-7).collect();
        let mut served = 0;
        for mask in 0..1u32 << open.len() {
            let mut other: Vec<i64> = tables.iter().map(|z| libm::floor(z + 1e-7) as i64).collect();
            open.iter().enumerate().for_each(|(bit, &i)| other[i] += i64::from(mask >> bit & 1));
            if serves(&other) {
                served += 1;
                assert!(off(&out) <= off(&other) + 1e-4, "{tables:?}: {out:?}, {other:?} is closer");
            }
        }
        several += usize::from(served > 2);
    }
    assert!(several > 150, "{several}");
}

/// Tables by node.
fn released(own: &System, descent: &Descent, keep: usize) -> (Vec<Vec<i64>>, Certificate) {
    let ties = |v: usize| test_stream(v as u64);
    let see = |all: &mut Vec<(usize, Table)>, v: usize, table: &Table| {
        all.push((v, table.clone()));
        Ok(())
    };
    let (tables, certificate) = descent
        .release(&Alone, keep, own.measure(), ties, see)
        .unwrap_or_else(|e| panic!("{e}: {:?} {:?}", own.measurements.variances, descent.passes));
    let mut cells = vec![vec![0; own.measurements.domain.cells()]; own.tree.nodes()];
    for (v, Table { places, counts }) in tables.into_iter().flatten() {
        assert!(counts.iter().all(|count| *count > 0) && places.is_sorted_by(|a, b| a < b));
        places.iter().zip(counts).for_each(|(&place, count)| cells[v][place as usize] = count);
    }
    (cells, certificate)
}

/// Every table is the sum of those below, and has what is known; kept estimates and those made twice give the same. Of counts to 4·10^7, of
/// noise far below them and far above, and of queries whose variances differ by a factor of 10^8.
#[test]
fn releases_keep_what_they_must() {
    let (mut rng, mut of_passes) = (test_stream(4212), test_stream(4218));
    let sizes = [
        Size { counts: 1, variance: 1.0, spread: 1.5 },
        Size { counts: 1_000, variance: 1e-2, spread: 1.5 },
        Size { counts: 1_000_000, variance: 1.0, spread: 3.0 },
        Size { counts: 10_000_000, variance: 1.0, spread: 1.5 },
        Size { counts: 1, variance: 1e-12, spread: 1.5 },
        Size { counts: 1, variance: 1e12, spread: 1.5 },
        Size { counts: 100, variance: 1.0, spread: 4.0 },
    ];
    for system in 0..700 {
        let own = System::sized(&mut rng, 1 + system / 7 % 4, sizes[system as usize % 7]);
        for (by_subtree, in_passes) in [(false, false), (true, false), (false, true), (true, true)] {
            let make = if by_subtree { Descent::bluedown } else { Descent::topdown };
            let mut descent = make(&own.tree, own.measurements.clone()).unwrap();
            if in_passes {
                let Some(own) = passing(&own, &mut of_passes, descent) else { continue };
                descent = own;
            }
            let (tables, certificate) = released(&own, &descent, usize::MAX);
            assert!(certificate.gap <= GAP, "system {system}: {certificate:?}");
            for v in 0..own.tree.nodes() {
                for cell in (0..tables[v].len()).filter(|_| !own.tree.is_leaf(v)) {
                    let sum: i64 = own.tree.children(v).map(|child| tables[child][cell]).sum();
                    assert_eq!(sum, tables[v][cell], "system {system}");
                }
                for (query, variance) in own.measurements.of_level(own.tree.level(v)) {
                    let map = own.measurements.queries[query].map(&own.measurements.domain);
                    for answer in (0..own.measurements.queries[query].answers()).filter(|_| variance == 0.0) {
                        let of = |table: &[i64]| -> i64 {
                            table
                                .iter()
                                .zip(&map)
                                .filter(|(_, own)| **own as usize == answer)
                                .map(|(x, _)| x)
                                .sum()
                        };
                        assert_eq!(
                            of(&tables[v]),
                            of(&own.truth[v]),
                            "system {system}, node {v}, query {query}"
                        );
                    }
                }
                // Noise far below a count leaves the table as it is.
                if system % 7 == 4 {
                    assert_eq!(tables[v], own.truth[v], "system {system}, node {v}");
                }
            }
            assert_eq!(released(&own, &descent, 0), (tables, certificate));
        }
    }
}

/// Every table is within its bounds and the sum of those below, in all areas of trees of up to four levels.
#[test]
fn releases_keep_bounds() {
    let mut rng = test_stream(4215);
    let (mut done, mut tight) = (0, 0);
    while done < 400 {
        let own = System::random(&mut rng, 1 + done % 4);
        // Known below the root and bounds together can leave no tables.
        if (0..3).any(|query| {
            query < own.measurements.queries.len()
                && own.measurements.levels() > 1
                && own.measurements.is_known(1, query)
        }) {
            continue;
        }
        done += 1;
        let (query, bounds) = own.bounds(&mut rng);
        for by_subtree in [false, true] {
            let make = if by_subtree { Descent::bluedown } else { Descent::topdown };
            let plain = || make(&own.tree, own.measurements.clone()).unwrap();
            // Sometimes with the query that has bounds first.
            let passes = if chance(&mut rng, 2) { vec![query] } else { vec![] };
            let descent = plain().passing(&passes).unwrap_or_else(|_| plain());
            let descent = descent.bounded(bounds.clone()).unwrap();
            let (tables, certificate) = released(&own, &descent, usize::MAX);
            assert!(certificate.gap <= GAP, "{certificate:?}");
            let map = own.measurements.queries[query].map(&own.measurements.domain);
            for (v, table) in tables.iter().enumerate() {
                for Limit { number, least, most } in bounds.of(v) {
                    let sum: i64 =
                        table.iter().zip(&map).filter(|(_, own)| *own == number).map(|(x, _)| x).sum();
                    assert!((*least..=*most).contains(&sum), "{done}, node {v}: {sum} of {least} to {most}");
                    tight += usize::from(sum == *least && sum > 0 || sum == *most && *most > 0);
                }
                for cell in (0..table.len()).filter(|_| !own.tree.is_leaf(v)) {
                    let sum: i64 = own.tree.children(v).map(|child| tables[child][cell]).sum();
                    assert_eq!(sum, table[cell]);
                }
            }
        }
    }
    assert!(tight > 500, "{tight}");
}

/// Tables of one cell: the releases of a tree of counts.
#[test]
fn without_attributes_they_are_topdown_and_bluedown() {
    use crate::imaging::{BlueDown, BlueDownScratch, TopDown, TopDownScratch};
    let mut rng = test_stream(4213);
    let mut seen = 0;
    while seen < 300 {
        let mut own = System::random(&mut rng, 3);
        if own.measurements.domain.cells() > 1 {
            continue;
        }
        seen += 1;
        let domain = Domain::new(&[], &[], &[]).unwrap();
        let queries = vec![Marginal::new(&domain, &Query::total())];
        let variances: Vec<f64> = (0..own.tree.levels()).map(|_| libm::exp(normal(&mut rng))).collect();
        let by_level = variances.iter().map(|variance| vec![Some(*variance)]).collect();
        own.measurements = Measurements::new(&domain, queries, by_level).unwrap();
        let noise: Vec<f64> = (0..own.tree.nodes())
            .map(|v| libm::sqrt(variances[own.tree.level(v)]) * normal(&mut rng))
            .collect();
        let counts: Vec<i64> = own.truth.iter().map(|table| table[0]).collect();
        let noisy: Vec<f64> = noise.iter().zip(&counts).map(|(z, &x)| x as f64 + z).collect();
        own.answers = noisy.iter().map(|y| vec![vec![*y]]).collect();
        let flat = |tables: Vec<Vec<i64>>| tables.concat();
        let mut want = vec![0; counts.len()];
        TopDown::new(&own.tree, &counts).release(&noisy, &mut rng, &mut TopDownScratch::default(), &mut want);
        let descent = Descent::topdown(&own.tree, own.measurements.clone()).unwrap();
        assert_eq!(flat(released(&own, &descent, 0).0), want);
        let blue = BlueDown::new(&own.tree, &variances, &counts).unwrap();
        blue.release(&counts, &noise, &mut rng, &mut BlueDownScratch::default(), &mut want);
        let descent = Descent::bluedown(&own.tree, own.measurements.clone()).unwrap();
        assert_eq!(flat(released(&own, &descent, 0).0), want);
    }
}

/// Passes are finer and finer, and nest with what is known; bounds are of sums of the first.
#[test]
fn passes_that_are_no_part_of_a_table_are_refused() {
    let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
    let queries = [Query::of(&[0, 1]), Query::total(), Query::of(&[0]), Query::of(&[1])];
    let domain = Domain::new(&[2, 3], &[], &queries).unwrap();
    let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
    let with = |known: Option<usize>| {
        let variance =
            |level: usize, query: usize| Some(if level == 0 && known == Some(query) { 0.0 } else { 1.0 });
        let variances = (0..2).map(|level| (0..4).map(|query| variance(level, query)).collect()).collect();
        let measurements = Measurements::new(&domain, marginals.clone(), variances).unwrap();
        Descent::topdown(&tree, measurements).unwrap()
    };
    assert!(with(None).passing(&[1, 2]).is_ok() && with(None).passing(&[1, 3, 0]).is_ok());
    for passes in [&[2, 3][..], &[2, 1], &[1, 1], &[4]] {
        let refused = with(None).passing(passes).unwrap_err().to_string();
        assert!(refused.contains("each finer than those before it"), "{refused}");
    }
    // What is known has to be a sum of the pass's answers, or the other way round.
    assert!(with(Some(1)).passing(&[2]).is_ok() && with(Some(2)).passing(&[1]).is_ok());
    assert!(
        with(Some(3)).passing(&[2]).unwrap_err().to_string().contains("query 3 settled first where query 4")
    );
    let bounds = |query: usize| {
        let descent = with(None);
        let bound = Bound { area: 1, query, answer: 0, least: 1, most: None };
        let measurements = &descent.gls(0).measurements;
        let whole = Measurements::new(&domain, measurements.queries.clone(), vec![vec![None; 4]; 2]).unwrap();
        Bounds::new(&tree, &whole, &[bound], |_, _| {}).unwrap()
    };
    assert!(with(None).passing(&[2]).unwrap().bounded(bounds(1)).is_ok());
    assert!(with(None).passing(&[2]).unwrap().bounded(bounds(2)).is_ok());
    let refused = with(None).bounded(bounds(2)).unwrap().passing(&[1]).unwrap_err().to_string();
    assert!(refused.contains("bounds of sums of the first pass's answers"), "{refused}");
}
