//! Trees of tables against dense least squares: every cell as an unknown, every answer as a row, what is known as an equation; and against
//! the code of BlueDown, whose estimates `scripts/bluedown` wrote.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use congenial_core::Alone;
use congenial_core::cube::{Answers, Domain, Estimate, Gls, Marginal, Measurements, Query, Zero};
use congenial_core::imaging::L2;
use congenial_core::invariant::Hierarchy;
use congenial_core::rng::{Rng, below, normal};
use nalgebra::{DMatrix, DVector};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::test_stream;

/// A tree of tables with what is measured of it.
struct System {
    tree: Hierarchy,
    queries: Vec<Query>,
    domain: Domain,
    variances: Vec<Vec<Option<f64>>>,
}

fn number(rng: &mut impl Rng, from: u64, to: u64) -> usize {
    (from + below(rng, to - from + 1)) as usize
}

fn chance(rng: &mut impl Rng, one_in: u64) -> bool {
    below(rng, one_in) == 0
}

/// A tree of up to 4 levels, of which some leaves are above the last.
fn tree(rng: &mut impl Rng) -> Hierarchy {
    let (mut parents, mut level) = (vec![0], vec![0]);
    for _ in 0..number(rng, 0, 3) {
        let mut below = Vec::new();
        for &v in &level {
            let children = if below.is_empty() { number(rng, 1, 3) } else { number(rng, 0, 3) };
            for _ in 0..children {
                below.push(parents.len());
                parents.push(v);
            }
        }
        level = below;
    }
    Hierarchy::from_parents(&parents).unwrap()
}

impl System {
    fn random(rng: &mut impl Rng) -> Self {
        loop {
            let sizes: Vec<u32> = (0..number(rng, 0, 3)).map(|_| number(rng, 1, 4) as u32).collect();
            let tree = tree(rng);
            let some = |rng: &mut _| -> Vec<usize> { (0..sizes.len()).filter(|_| chance(rng, 2)).collect() };
            let detailed = Query::of(&(0..sizes.len()).collect::<Vec<_>>());
            let mut queries = vec![detailed];
            for _ in 0..number(rng, 0, 4) {
                let mut query = Query::of(&some(rng));
                if !sizes.is_empty() && chance(rng, 3) {
                    let attribute = number(rng, 0, sizes.len() as u64 - 1);
                    let mut groups = vec![Vec::new(); 2];
                    for category in 0..sizes[attribute] {
                        if let Some(group) = groups.get_mut(number(rng, 0, 2)) {
                            group.push(category);
                        }
                    }
                    groups.retain(|group| !group.is_empty());
                    if !groups.is_empty() {
                        query = query.grouping(attribute, groups);
                    }
                }
                queries.push(query);
            }
            let mut zeros = Vec::new();
            if chance(rng, 3) {
                let of = some(rng)
                    .into_iter()
                    .map(|attribute| (attribute, vec![below(rng, u64::from(sizes[attribute])) as u32]));
                zeros.push(Zero { of: of.collect() });
                zeros.retain(|zero| !zero.of.is_empty());
            }
            let Ok(domain) = Domain::new(&sizes, &zeros, &queries) else { continue };
            if domain.cells() * tree.leaves().len() > 60 {
                continue;
            }
            let leaves: Vec<usize> = tree.leaves().iter().map(|&leaf| tree.level(leaf as usize)).collect();
            let mut variances = Vec::new();
            for level in 0..tree.levels() {
                let of = |(query, rng): (usize, &mut _)| match number(rng, 0, 5) {
                    0 if query > 0 => Some(0.0),
                    1 | 2 if query > 0 || !leaves.contains(&level) => None,
                    _ => Some((2.5 * normal(rng)).exp()),
                };
                variances.push((0..queries.len()).map(|query| of((query, rng))).collect());
            }
            return Self { tree, queries, domain, variances };
        }
    }

    fn gls(&self) -> Gls {
        let marginals = self.queries.iter().map(|query| Marginal::new(&self.domain, query)).collect();
        let measurements = Measurements::new(&self.domain, marginals, self.variances.clone()).unwrap();
        Gls::new(&self.tree, measurements).unwrap()
    }

    /// The row of a sum over areas, of a cell of the domain or of what an answer counts.
    fn row(&self, areas: &[(usize, f64)], counts: impl Fn(usize) -> bool) -> DVector<f64> {
        let cells = self.domain.cells();
        let mut row = DVector::zeros(self.tree.leaves().len() * cells);
        for (place, &leaf) in self.tree.leaves().iter().enumerate() {
            let mut v = leaf as usize;
            loop {
                let weight: f64 = areas.iter().filter(|(area, _)| *area == v).map(|(_, weight)| weight).sum();
                (0..cells).filter(|&cell| counts(cell)).for_each(|cell| row[place * cells + cell] += weight);
                if v == 0 {
                    break;
                }
                v = self.tree.parent(v);
            }
        }
        row
    }
}

/// Dense least squares: the unknowns' best estimate and its covariance.
struct Dense {
    estimate: DVector<f64>,
    covariance: DMatrix<f64>,
}

impl Dense {
    /// `rows`: of what is measured, each with its value and variance; 0 of what is known.
    fn of(unknowns: usize, rows: &[(DVector<f64>, f64, f64)]) -> Self {
        let (known, finite): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, _, variance)| *variance == 0.0);
        let mut gram = DMatrix::zeros(unknowns, unknowns);
        let mut along = DVector::zeros(unknowns);
        for (row, value, _) in known {
            gram += row * row.transpose();
            along += row * *value;
        }
        // What is known spans the eigenvectors whose eigenvalues are not 0.
        let eigen = gram.symmetric_eigen();
        let most = eigen.eigenvalues.amax();
        let mut particular = DVector::zeros(unknowns);
        let mut open = Vec::new();
        for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
            match *value > 1e-9 * most {
                true => particular += vector * (vector.dot(&along) / value),
                false => open.push(vector.into_owned()),
            }
        }
        let mut covariance = DMatrix::zeros(unknowns, unknowns);
        if open.is_empty() {
            return Self { estimate: particular, covariance };
        }
        let z = DMatrix::from_columns(&open);
        let mut precision = DMatrix::zeros(open.len(), open.len());
        let mut right = DVector::zeros(open.len());
        for (row, value, variance) in finite {
            let own = z.transpose() * row;
            precision += &own * own.transpose() / *variance;
            right += &own * ((value - row.dot(&particular)) / *variance);
        }
        let inverse = precision.cholesky().unwrap().inverse();
        covariance += &z * &inverse * z.transpose();
        Self { estimate: particular + z * inverse * right, covariance }
    }
}

/// By node the cells of its estimate, of answers that are given by node and query. Answers that are all 0 are not written.
fn estimated(gls: &Gls, keep: usize, answers: &[Vec<Vec<f64>>]) -> Vec<(usize, Vec<f64>)> {
    let measure = |v: usize, out: &mut Answers| {
        out.of
            .iter_mut()
            .zip(&answers[v])
            .filter(|(_, given)| given.iter().any(|y| *y != 0.0))
            .for_each(|(own, given)| own.copy_from_slice(given));
    };
    let see = |all: &mut Vec<(usize, Vec<f64>)>, v: usize, estimate: &Estimate| {
        let mut cells = Vec::new();
        estimate.cells(&mut cells);
        all.push((v, cells));
        Ok(())
    };
    gls.estimate(&Alone, keep, measure, see).unwrap().into_iter().flatten().collect()
}

/// Estimates of every cell of every area, and variances of sums over areas, in 1,000 random systems: trees with leaves on several levels,
/// attributes, groups that leave categories out, structural zeros, queries that are known on some levels. In a third of them all cells are
/// 0, in another most are: what is known can be 0, all of it or a part.
#[test]
fn estimates_and_variances_are_those_of_dense_least_squares() {
    let mut rng = test_stream(420);
    let (mut joined, mut known) = (0, 0);
    for system in 0..1000 {
        let own = System::random(&mut rng);
        let gls = own.gls();
        joined += usize::from(own.domain.joint() > 1);
        known += usize::from(own.variances.iter().flatten().flatten().any(|variance| *variance == 0.0));
        let cells = own.domain.cells();
        let unknowns = own.tree.leaves().len() * cells;
        let zero = |cell: usize| [false, true, !cell.is_multiple_of(4)][system % 3];
        let truth = DVector::from_fn(unknowns, |_, _| 10.0 * normal(&mut rng));
        let truth = DVector::from_fn(unknowns, |cell, _| if zero(cell) { 0.0 } else { truth[cell] });
        let mut answers = vec![vec![Vec::new(); own.queries.len()]; own.tree.nodes()];
        let mut rows = Vec::new();
        for (v, answers) in answers.iter_mut().enumerate() {
            for (query, variance) in gls.measurements().of_level(own.tree.level(v)) {
                let marginal = &gls.measurements().queries()[query];
                for answer in 0..marginal.answers() {
                    let row =
                        own.row(&[(v, 1.0)], |cell| marginal.answer_of(&own.domain, cell) == Some(answer));
                    let value = row.dot(&truth) + variance.sqrt() * normal(&mut rng);
                    answers[query].push(value);
                    rows.push((row, value, variance));
                }
            }
        }
        let dense = Dense::of(unknowns, &rows);
        let scale = dense.estimate.amax().max(1.0);
        let all = estimated(&gls, usize::MAX, &answers);
        assert_eq!(all.len(), own.tree.nodes());
        for (v, cells) in &all {
            for (cell, got) in cells.iter().enumerate() {
                let want = own.row(&[(*v, 1.0)], |other| other == cell).dot(&dense.estimate);
                assert!(
                    (got - want).abs() < 1e-9 * scale,
                    "system {system}, node {v}, cell {cell}: {got} {want}"
                );
            }
        }
        let (detailed, mut seen) = (&gls.measurements().queries()[0], 0);
        gls.each_variances(|areas, variances| {
            seen += areas.len();
            for (v, cell) in areas.iter().flat_map(|&v| (0..cells).map(move |cell| (v, cell))) {
                let row = own.row(&[(v, 1.0)], |other| other == cell);
                let want = row.dot(&(&dense.covariance * &row));
                let got = variances.answer(detailed, detailed.answer_of(&own.domain, cell).unwrap());
                let is_near = got >= 0.0 && (got - want).abs() < 1e-9 * (1.0 + want);
                assert!(is_near, "system {system}, node {v}: {got} {want}");
            }
        });
        assert_eq!(seen, own.tree.nodes());
        // Subtrees that are gone up twice give the same bits.
        assert!(estimated(&gls, 0, &answers) == all);
        for _ in 0..4 {
            let areas: Vec<(usize, f64)> = (0..number(&mut rng, 1, 4))
                .map(|_| (below(&mut rng, own.tree.nodes() as u64) as usize, normal(&mut rng)))
                .collect();
            let variances = gls.variances(&areas);
            let marginal = &gls.measurements().queries()[below(&mut rng, own.queries.len() as u64) as usize];
            for answer in 0..marginal.answers() {
                let row = own.row(&areas, |cell| marginal.answer_of(&own.domain, cell) == Some(answer));
                let want = row.dot(&(&dense.covariance * &row));
                let got = variances.answer(marginal, answer);
                let is_near = got >= 0.0 && (got - want).abs() < 1e-9 * (1.0 + want);
                assert!(is_near, "system {system}, {areas:?}: {got} {want}");
            }
        }
    }
    assert!(joined > 200 && known > 400, "{joined} {known}");
}

/// All variances times a power of 4: the estimates are the same to the last bit, their variances that many times what they were. No size
/// of noise is told from 0, or from that of what is known.
#[test]
fn a_scale_of_all_noise_moves_no_estimate() {
    let mut rng = test_stream(422);
    for _ in 0..100 {
        let mut own = System::random(&mut rng);
        let gls = own.gls();
        let answers: Vec<Vec<Vec<f64>>> = (0..own.tree.nodes())
            .map(|v| {
                let mut of = vec![Vec::new(); own.queries.len()];
                for (query, variance) in gls.measurements().of_level(own.tree.level(v)) {
                    let number = gls.measurements().queries()[query].answers();
                    // What is known is 0, so that it does not contradict itself.
                    let value = |_| if variance == 0.0 { 0.0 } else { normal(&mut rng) };
                    of[query] = (0..number).map(value).collect();
                }
                of
            })
            .collect();
        let want = estimated(&gls, usize::MAX, &answers);
        let variances = own.variances.clone();
        for scale in [2f64.powi(250), 2f64.powi(-250)] {
            let times = |variance: &Option<f64>| variance.map(|variance| variance * scale);
            own.variances = variances.iter().map(|level| level.iter().map(times).collect()).collect();
            let scaled = own.gls();
            assert!(estimated(&scaled, usize::MAX, &answers) == want);
            let areas = [(0, 1.0), (own.tree.nodes() - 1, -0.5)];
            let (before, after) = (gls.variances(&areas), scaled.variances(&areas));
            for marginal in gls.measurements().queries() {
                for answer in 0..marginal.answers() {
                    assert_eq!(after.answer(marginal, answer), scale * before.answer(marginal, answer));
                }
            }
        }
    }
}

/// A tree that has to be cut: its tables have 3 × 349,000 cells, and 8 of them are a subtree at most. Every answer is spread evenly over
/// the 349,000, so that the sums of the estimates are those of tables of 3 cells, which need no cut.
#[test]
fn a_tree_that_is_cut_is_estimated_like_one_that_is_not() {
    const MANY: usize = 349_000;
    // The first child of the root has 10 nodes, and is cut, too. Leaves are on three levels.
    let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 1, 3, 3, 4, 4, 4, 4, 6, 6]).unwrap();
    let gls = |sizes: &[u32], many: f64| {
        let queries = [Query::of(&(0..sizes.len()).collect::<Vec<_>>()), Query::of(&[0]), Query::total()];
        let domain = Domain::new(sizes, &[], &queries).unwrap();
        let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let variances = [
            [None, Some(2.0), Some(0.0)],
            [Some(3.0 / many), None, Some(0.5)],
            [Some(1.0 / many), Some(4.0), Some(0.0)],
            [Some(2.0 / many), None, Some(0.7)],
        ];
        let variances = variances.iter().map(|level| level.to_vec()).collect();
        Gls::new(&tree, Measurements::new(&domain, marginals, variances).unwrap()).unwrap()
    };
    let (small, large) = (gls(&[3], 1.0), gls(&[3, MANY as u32], MANY as f64));
    let mut rng = test_stream(423);
    // Totals that are known are consistent: each is 0.
    let known = |v: usize| matches!(tree.level(v), 0 | 2);
    let answers: Vec<Vec<Vec<f64>>> = (0..tree.nodes())
        .map(|v| {
            let mut own = |number: usize| (0..number).map(|_| normal(&mut rng)).collect::<Vec<f64>>();
            let (cells, sums, total) = (own(3), own(3), own(1));
            vec![cells, sums, if known(v) { vec![0.0] } else { total }]
        })
        .collect();
    let calls = AtomicUsize::new(0);
    let sums = |gls: &Gls, keep: usize| {
        let measure = |v: usize, out: &mut Answers| {
            calls.fetch_add(1, Ordering::Relaxed);
            for (own, given) in out.of.iter_mut().zip(&answers[v]).filter(|(own, _)| !own.is_empty()) {
                let each = own.len() / given.len();
                own.chunks_exact_mut(each).zip(given).for_each(|(own, y)| own.fill(y / each as f64));
            }
        };
        let see = |all: &mut Vec<(usize, Vec<f64>)>, v: usize, estimate: &Estimate| {
            let mut out = Vec::new();
            estimate.answers(&gls.measurements().queries()[1], &mut out);
            all.push((v, out));
            Ok(())
        };
        gls.estimate(&Alone, keep, measure, see).unwrap()
    };
    let want: Vec<(usize, Vec<f64>)> = sums(&small, usize::MAX).concat();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 15);
    let got = sums(&large, usize::MAX);
    assert_eq!(calls.swap(0, Ordering::Relaxed), 15);
    // What is above the subtrees comes first.
    let above: Vec<usize> = got[0].iter().map(|(v, _)| *v).collect();
    assert_eq!((got.len(), above), (6, vec![0, 1]));
    let mut all = got.concat();
    all.sort_by_key(|(v, _)| *v);
    assert_eq!(all.len(), tree.nodes());
    for ((v, got), (other, want)) in all.iter().zip(&want) {
        assert!(
            v == other && got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9),
            "{v}: {got:?} {want:?}"
        );
    }
    // Where nothing may be held, all nodes but those above the subtrees are gone up twice.
    assert!(sums(&large, 0) == got);
    assert_eq!(calls.into_inner(), 2 + 2 * 13);
}

/// Without attributes the estimate is that of least squares on the tree, to 1e-9; with some, so is that of every cell where only the
/// detailed table is measured.
#[test]
fn without_queries_it_is_least_squares_on_a_tree() {
    let mut rng = test_stream(421);
    for sizes in [&[][..], &[3, 2]] {
        for _ in 0..50 {
            let tree = tree(&mut rng);
            let variances: Vec<f64> = (0..tree.levels()).map(|_| normal(&mut rng).exp()).collect();
            let queries = [Query::of(&(0..sizes.len()).collect::<Vec<_>>())];
            let domain = Domain::new(sizes, &[], &queries).unwrap();
            let measured = variances.iter().map(|variance| vec![Some(*variance)]).collect();
            let measurements =
                Measurements::new(&domain, vec![Marginal::new(&domain, &queries[0])], measured).unwrap();
            let gls = Gls::new(&tree, measurements).unwrap();
            let cells = domain.cells();
            let noise: Vec<f64> = (0..tree.nodes() * cells).map(|_| normal(&mut rng)).collect();
            let answers: Vec<Vec<Vec<f64>>> = noise.chunks(cells).map(|own| vec![own.to_vec()]).collect();
            let l2 = L2::new(&tree, &variances).unwrap();
            let own = estimated(&gls, usize::MAX, &answers);
            for cell in 0..cells {
                let mut want: Vec<f64> = (0..tree.nodes()).map(|v| noise[v * cells + cell]).collect();
                l2.project(&mut want);
                assert!(own.iter().all(|(v, got)| (got[cell] - want[*v]).abs() < 1e-9));
            }
        }
    }
}

/// A table of which leaves do not determine every cell is refused; so are variances that are none.
#[test]
fn what_is_not_determined_is_refused() {
    let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
    let queries = [Query::of(&[0, 1]), Query::of(&[0]), Query::of(&[1])];
    let domain = Domain::new(&[2, 3], &[], &queries).unwrap();
    let gls = |variances: Vec<Vec<Option<f64>>>| {
        let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        Measurements::new(&domain, marginals, variances).and_then(|all| Gls::new(&tree, all))
    };
    let refused = |variances| gls(variances).unwrap_err().to_string();
    let one = Some(1.0);
    assert!(gls(vec![vec![None, None, None], vec![one, None, None]]).is_ok());
    let open = refused(vec![vec![one, one, one], vec![None, one, one]]);
    assert!(open.contains("level: got 1") && open.contains("detailed table"), "{open}");
    assert!(refused(vec![vec![one, one, one]]).contains("variances"));
    assert!(refused(vec![vec![one, one], vec![one, one]]).contains("one for each query"));
    assert!(refused(vec![vec![Some(-1.0), one, one], vec![one, one, one]]).contains("-1"));
    assert!(refused(vec![vec![Some(f64::NAN), one, one], vec![one, one, one]]).contains("NaN"));
    // The least and the largest variance that are served, and those beyond.
    for power in [-300, 300] {
        let (last, beyond) = (2f64.powi(power), 2f64.powi(power + power.signum()));
        assert!(gls(vec![vec![Some(last), one, one], vec![one, one, Some(last)]]).is_ok());
        assert!(refused(vec![vec![Some(beyond), one, one], vec![one, one, one]]).contains("2^-300"));
    }
}

/// So is one of which sums of joined categories are all that is known; and covariances that would not fit, before they are computed.
#[test]
fn what_is_joined_is_refused_where_it_is_open_or_too_large() {
    let gls = |tree: &Hierarchy, groups: Vec<Vec<u32>>, size: u32, of: [Option<f64>; 2]| {
        let queries = [Query::of(&[0]), Query::total().grouping(0, groups)];
        let domain = Domain::new(&[size], &[], &queries).unwrap();
        let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let variances = vec![of.to_vec(); tree.levels()];
        Measurements::new(&domain, marginals, variances).and_then(|all| Gls::new(tree, all))
    };
    let one = Hierarchy::from_parents(&[0]).unwrap();
    let groups = vec![vec![0], vec![1, 2]];
    // Pivots that are 0 but for rounding are 0, whatever their sign.
    for step in 1..50 {
        let variance = Some(f64::from(step) / 7.0);
        assert!(gls(&one, groups.clone(), 3, [Some(1.0), variance]).is_ok());
        let error = gls(&one, groups.clone(), 3, [None, variance]).unwrap_err();
        assert!(error.to_string().contains("detailed table"));
    }
    // Areas with 1 to 127 children, the leaves and the root: 129 shapes of 2 × 1,024² numbers.
    let mut parents = vec![0; 128];
    (1..128).for_each(|v| parents.extend(vec![v; v]));
    let tree = Hierarchy::from_parents(&parents).unwrap();
    let each: Vec<Vec<u32>> = (0..1024).map(|category| vec![category]).collect();
    let error = gls(&tree, each, 1024, [Some(1.0); 2]).unwrap_err().to_string();
    assert!(error.contains("129 shapes"), "{error}");
}

/// Sizes at the limits are served; of those beyond a product of sizes that overflows is one.
#[test]
fn limits_are_the_last_that_is_served() {
    assert!(Domain::new(&[2; 12], &[], &[]).is_ok());
    assert_eq!(Domain::new(&[1 << 12, 1 << 12], &[], &[]).unwrap().cells(), 1 << 24);
    let joined = [Query::total().grouping(0, vec![vec![0], vec![1]]).grouping(1, vec![vec![0]])];
    assert_eq!(Domain::new(&[2, 512], &[], &joined).unwrap().joint(), 1 << 10);
    assert!(Domain::new(&[2, 513], &[], &joined).unwrap_err().to_string().contains("combinations"));
    let refused = |sizes: &[u32], zeros: &[Zero]| Domain::new(sizes, zeros, &[]).unwrap_err().to_string();
    assert!(refused(&[64; 12], &[]).contains("cells, the limit"));
    assert!(refused(&[2], &[Zero { of: vec![(0, vec![])] }]).contains("at least one"));
    assert!(refused(&[2], &[Zero { of: vec![(0, vec![0]), (0, vec![1])] }]).contains("each once"));
    assert!(refused(&[2], &[Zero { of: vec![] }]).contains("no attribute"));
}

/// Groups stand in the place of categories, and of other groups; answers of one variance are all answers, once each.
#[test]
fn groups_replace_and_answers_alike_are_all_answers() {
    let groups = vec![vec![0], vec![1, 2]];
    let query = Query::of(&[0, 1]).grouping(0, vec![vec![0, 1]]).grouping(0, groups.clone());
    assert_eq!(query, Query::of(&[1]).grouping(0, groups));
    let domain = Domain::new(&[3, 4, 2], &[], std::slice::from_ref(&query)).unwrap();
    let marginal = Marginal::new(&domain, &query);
    assert_eq!(marginal.alike().collect::<Vec<_>>(), [(0, 4), (4, 4)]);
    assert_eq!(marginal.answers(), 8);
}

/// A system of `data/bluedown.txt`, whose header says what its lines are.
struct Kept {
    name: String,
    lines: Vec<(String, Vec<f64>)>,
}

impl Kept {
    /// All lines of a name.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [f64]> {
        self.lines.iter().filter(move |(own, _)| own == name).map(|(_, numbers)| &numbers[..])
    }

    /// The whole numbers of the first line of a name; none where there is no such line.
    fn whole(&self, name: &str) -> Vec<usize> {
        self.all(name).next().unwrap_or_default().iter().map(|x| *x as usize).collect()
    }

    fn sizes(&self) -> Vec<u32> {
        self.whole("sizes").iter().map(|&size| size as u32).collect()
    }

    /// By their shapes, the last with groups where there are some.
    fn queries(&self) -> Vec<Query> {
        let of_shape = |shape: &[f64]| {
            let named: Vec<usize> = (0..shape.len()).filter(|&attribute| shape[attribute] > 1.0).collect();
            Query::of(&named)
        };
        let mut queries: Vec<Query> = self.all("query").map(of_shape).collect();
        let (mut groups, mut from) = (Vec::new(), 0);
        for size in self.whole("grouped") {
            groups.push((from..from + size as u32).collect());
            from += size as u32;
        }
        if !groups.is_empty() {
            *queries.last_mut().unwrap() = Query::total().grouping(0, groups);
        }
        queries
    }

    fn gls(&self) -> Gls {
        let of: Vec<_> =
            self.whole("zero").iter().map(|&category| vec![category as u32]).enumerate().collect();
        let zeros: Vec<Zero> = [Zero { of }].into_iter().filter(|zero| !zero.of.is_empty()).collect();
        let queries = self.queries();
        let domain = Domain::new(&self.sizes(), &zeros, &queries).unwrap();
        let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let of_level =
            |own: &[f64]| own.iter().map(|variance| Some(*variance).filter(|x| !x.is_nan())).collect();
        let variances = self.all("variances").map(of_level).collect();
        let tree = Hierarchy::from_parents(&self.whole("parents")).unwrap();
        Gls::new(&tree, Measurements::new(&domain, marginals, variances).unwrap()).unwrap()
    }

    /// By node and query the answers in the order of a marginal, without those of no cell that can be.
    fn answers(&self, gls: &Gls) -> Vec<Vec<Vec<f64>>> {
        let measurements = gls.measurements();
        let shapes: Vec<&[f64]> = self.all("query").collect();
        let mut answers = vec![vec![Vec::new(); shapes.len()]; gls.tree().nodes()];
        for own in self.all("answers") {
            let (v, query, given) = (own[0] as usize, own[1] as usize, &own[2..]);
            let marginal = &measurements.queries()[query];
            let place = |answer| {
                let codes = marginal.codes(measurements.domain(), answer);
                codes.iter().zip(shapes[query]).fold(0, |at, (&code, &n)| at * n as usize + code as usize)
            };
            answers[v][query] = (0..marginal.answers()).map(|answer| given[place(answer)]).collect();
        }
        answers
    }
}

fn kept() -> Vec<Kept> {
    let mut systems: Vec<Kept> = Vec::new();
    for line in include_str!("../data/bluedown.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(' ').unwrap();
        if name == "system" {
            systems.push(Kept { name: rest.to_owned(), lines: Vec::new() });
            continue;
        }
        let numbers = rest.split(' ').map(|x| if x == "-" { f64::NAN } else { x.parse().unwrap() });
        systems.last_mut().unwrap().lines.push((name.to_owned(), numbers.collect()));
    }
    systems
}

/// How far a figure is from BlueDown's: relative, or absolute below 1.
fn off(got: f64, want: f64) -> f64 {
    (got - want).abs() / (1.0 + want.abs())
}

/// Estimates and variances of cells and totals are those of BlueDown's code, to 1e-10: the matrices that it inverts have condition numbers
/// up to 12,000, which take 1e-12 of every cell from it, and a total sums 2,016 cells.
#[test]
fn estimates_and_variances_are_those_of_bluedown() {
    let mut compared = 0;
    for own in kept() {
        let gls = own.gls();
        let domain = gls.measurements().domain();
        let sizes = domain.sizes();
        let detailed = Marginal::new(domain, &Query::of(&(0..sizes.len()).collect::<Vec<_>>()));
        let total = Marginal::new(domain, &Query::total());
        let place = |mut cell: usize| {
            let mut categories = vec![0; sizes.len()];
            for (category, &n) in categories.iter_mut().zip(sizes).rev() {
                *category = (cell % n as usize) as u32;
                cell /= n as usize;
            }
            domain.place(&categories)
        };
        let places: Vec<Option<usize>> = own.whole("cells").into_iter().map(place).collect();
        // By node the kept cells, where a cell that cannot be is 0, and the total: of the estimate and of its variance.
        let mut estimates = vec![Vec::new(); gls.tree().nodes()];
        for (v, cells) in estimated(&gls, usize::MAX, &own.answers(&gls)) {
            estimates[v] = places.iter().map(|place| place.map_or(0.0, |place| cells[place])).collect();
            estimates[v].push(cells.iter().sum());
        }
        let mut variances = vec![Vec::new(); gls.tree().nodes()];
        gls.each_variances(|areas, of| {
            let of_cell = |place| of.answer(&detailed, detailed.answer_of(domain, place).unwrap());
            let mut own: Vec<f64> = places.iter().map(|place| place.map_or(0.0, of_cell)).collect();
            own.push(of.answer(&total, 0));
            areas.iter().for_each(|&v| variances[v].clone_from(&own));
        });
        let of_totals: Vec<&[f64]> = own.all("total").collect();
        for (what, got, at) in [("estimate", estimates, 1), ("variance", variances, 2)] {
            assert_eq!(own.all(what).count(), got.len());
            for (want, of_total) in own.all(what).zip(&of_totals) {
                let (node, want) = want.split_first().unwrap();
                let (node, got) = (*node, &got[*node as usize]);
                let want: Vec<f64> = want.iter().copied().chain([of_total[at]]).collect();
                assert!(got.len() == want.len() && of_total[0] == node);
                for (got, want) in got.iter().zip(want) {
                    assert!(
                        off(*got, want) < 1e-10,
                        "{}, node {node}, {what}: {got}, BlueDown {want}",
                        own.name
                    );
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 1402);
}
