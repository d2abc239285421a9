//! Speed on trees of tables: the estimate of 2,016 cells in every area from nine queries, beside the machine's raw word rate.
//!
//! The limit is 150 microseconds an area on one core where a word takes 1.2 nanoseconds. `scripts/bench` runs it.

mod shapes;
mod words;

use congenial_core::Alone;
use congenial_core::cube::{Answers, Domain, Estimate, Gls, Marginal, Measurements, Query};
use congenial_core::invariant::Hierarchy;
use congenial_core::rng::normal;
use criterion::Criterion;
use shapes::rng;
use std::hint::black_box;
use words::{bench_words, print_ratios};

/// A county with 10 tracts of 20 blocks each.
const AREAS: f64 = 211.0;

fn tree() -> Hierarchy {
    let tracts = (0..10).map(|_| 0);
    let blocks = (0..200).map(|block| 1 + block / 20);
    let parents: Vec<usize> = [0].into_iter().chain(tracts).chain(blocks).collect();
    Hierarchy::from_parents(&parents).expect("a tree")
}

/// Nine queries of household or group quarters type (8), voting age (2), Hispanic (2) and race (63), by the queries of the census of 2020.
/// `grouped`: one of them by groups of types, whose covariances are matrices.
fn queries(grouped: bool) -> Vec<Query> {
    let of = [&[][..], &[0], &[1], &[2], &[3], &[1, 2], &[1, 2, 3], &[0, 1, 2, 3], &[0, 1]];
    let mut queries: Vec<Query> = of.iter().map(|of| Query::of(of)).collect();
    if grouped {
        queries[1] = Query::total().grouping(0, vec![vec![0], vec![1, 2, 3, 4], vec![5, 6, 7]]);
    }
    queries
}

fn benches(criterion: &mut Criterion) {
    let tree = tree();
    let mut group = criterion.benchmark_group("cube");
    group.sample_size(20);
    bench_words(&mut group, "words");
    for (name, grouped) in [("symmetric", false), ("grouped", true)] {
        let queries = queries(grouped);
        let domain = Domain::new(&[8, 2, 2, 63], &[], &queries).expect("a table");
        let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let longest = marginals.iter().map(Marginal::answers).max().unwrap_or(0);
        let variances =
            (0..3).map(|level| (0..9).map(|q| Some(f64::from(level + q + 1))).collect()).collect();
        let measurements = Measurements::new(&domain, marginals, variances).expect("variances");
        let gls = Gls::new(&tree, measurements).expect("every cell is measured");
        let mut rng = rng();
        let noise: Vec<f64> = (0..longest + 64).map(|_| normal(&mut rng)).collect();
        let measure = |v: usize, answers: &mut Answers| {
            let own = answers.of.iter_mut().flat_map(|own| own.iter_mut().zip(&noise[v % 64..]));
            own.for_each(|(answer, z)| *answer = *z);
        };
        group.bench_function(name, |b| {
            b.iter(|| {
                let see = |seen: &mut usize, v: usize, estimate: &Estimate| {
                    *seen += black_box((v, estimate)).0;
                    Ok(())
                };
                gls.estimate(&Alone, usize::MAX, measure, see)
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
    let limit = Some(125_000.0);
    let lines = [("symmetric".to_owned(), AREAS, limit), ("grouped".to_owned(), AREAS, limit)];
    print_ratios("cube", "words", "area", &lines);
}
