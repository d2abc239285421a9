//! Trees of tables at the scale of a state: the blocks of Delaware in 2010, in each a table of 2,016 cells measured by nine queries with
//! double geometric noise, on five levels. Everything that a replicate does is counted: the noise, the estimate up and down, the errors of
//! every query. In raw xoshiro256++ words an area of the same process, with what two threads gain beside what they gain on raw words.
//! `STATE=10`: another state by its code. `--test`: one county's worth, without figures.

mod turns;

use congenial::cube::{Answers, Domain, Estimate, Gls, Marginal, Measurements, Query};
use congenial::engine::Pool;
use congenial::input::{AreaKeys, CsvTable, Wanted};
use congenial::invariant::Hierarchy;
use congenial::law::{DoubleGeometric, Law, Sampler};
use congenial::rng::{Role, TaskKey, piece_stream};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use turns::{Turns, pools, turns};

/// Words an area at most, noise and errors included: 150 microseconds where a word takes 1.2 nanoseconds.
const LIMIT: f64 = 125_000.0;
/// Least gain of two threads, of what raw words gain.
const GAIN: f64 = 0.9;
const KEY: TaskKey = TaskKey { seed: 1, cell: 2, replicate: 0, role: Role::Noise };

/// State, counties, tracts, block groups, blocks.
fn tree(state: &str, most: usize) -> Hierarchy {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/country/block_groups_2010.parquet"));
    let table = CsvTable::read(path).expect("block groups");
    let place = |name: &str| table.column(name).expect("a column");
    let (of_state, above, blocks) =
        (place("state"), ["county", "tract", "block_group"].map(place), place("blocks"));
    let mut columns = ["county", "tract", "block_group", "block"].map(|name| (name.to_owned(), Vec::new()));
    for row in (0..table.len()).filter(|&row| table.text(row, of_state) == state).take(most) {
        let blocks: u32 = table.text(row, blocks).parse().expect("a number");
        for block in 0..blocks {
            let [county, tract, group] = above.map(|place| table.text(row, place).to_owned());
            let names = [county, tract, group, block.to_string()];
            columns.iter_mut().zip(names).for_each(|((_, column), name)| column.push(Some(name)));
        }
    }
    let blocks = CsvTable::from_columns(Path::new("blocks"), &columns, &Wanted::default()).expect("a table");
    AreaKeys::read(&blocks, &[0, 1, 2, 3]).expect("a tree").tree
}

fn main() {
    let test = std::env::args().any(|argument| argument == "--test");
    let state = std::env::var("STATE").unwrap_or("10".into());
    let tree = tree(&state, if test { 4 } else { usize::MAX });
    let of = [&[][..], &[0], &[1], &[2], &[3], &[1, 2], &[1, 2, 3], &[0, 1, 2, 3], &[0, 1]];
    let queries = of.map(Query::of);
    let domain = Domain::new(&[8, 2, 2, 63], &[], &queries).expect("a table");
    let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
    // A loss of 1 in equal shares.
    let lambda = (tree.levels() * queries.len()) as f64;
    let law = DoubleGeometric::new(lambda).expect("a scale");
    let variances = vec![vec![Some(law.variance()); queries.len()]; tree.levels()];
    let measurements = Measurements::new(&domain, marginals, variances).expect("variances");
    let clock = Instant::now();
    let gls = Gls::new(&tree, measurements).expect("every cell is measured");
    let prepare = clock.elapsed().as_secs_f64();
    let sampler = law.sampler();
    let measure = |v: usize, answers: &mut Answers| {
        let mut rng = piece_stream(KEY, tree.level(v) as u32, v as u32);
        answers.of.iter_mut().flatten().for_each(|answer| *answer = sampler.draw(&mut rng) as f64);
    };
    let see = |sums: &mut Vec<f64>, v: usize, estimate: &Estimate| {
        sums.resize(tree.levels() * queries.len(), 0.0);
        let mut answers = Vec::new();
        for (query, marginal) in gls.measurements().queries().iter().enumerate() {
            estimate.answers(marginal, &mut answers);
            sums[tree.level(v) * queries.len() + query] +=
                answers.iter().map(|error| error.abs()).sum::<f64>();
        }
        Ok(())
    };
    let pools = pools();
    let draw = || {
        black_box(gls.estimate(&Pool, 1 << 26, measure, see).expect("it adds up"));
    };
    if test {
        return pools[1].install(draw);
    }
    let Turns { one, gain, machine, word } = turns(3, &pools, draw);
    let ratio = one / tree.nodes() as f64 / word;
    let verdict = |slow: bool| if slow { ": TOO SLOW" } else { "" };
    println!(
        "{} areas, {} leaves: {ratio:.0} words an area (limit {LIMIT}{}), {one:.1} s; two threads {gain:.2} times one, {:.2} of what raw \
         words gain ({machine:.2}; limit {GAIN}{}); prepared in {prepare:.2} s; a word takes {:.3} ns",
        tree.nodes(),
        tree.leaves().len(),
        verdict(ratio > LIMIT),
        gain / machine,
        verdict(gain / machine < GAIN),
        word * 1e9
    );
}
