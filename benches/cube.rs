//! Trees of tables at the scale of a state: the blocks of Delaware in 2010, in each a table of 2,016 cells measured by nine queries with
//! double geometric noise, on five levels. Everything that a replicate does is counted: the noise, the estimate up and down, the errors of
//! every query. In raw xoshiro256++ words an area of the same process, with what two threads gain beside what they gain on raw words.
//! `STATE=10`: another state by its code. `--test`: one county's worth, without figures.

use congenial::Crew;
use congenial::cube::{Answers, Domain, Estimate, Gls, Marginal, Measurements, Query};
use congenial::engine::Pool;
use congenial::input::CsvTable;
use congenial::invariant::Hierarchy;
use congenial::law::{DoubleGeometric, Law, Sampler};
use congenial::rng::{Rng, Role, TaskKey, piece_stream, stream};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Words an area at most, noise and errors included: 150 microseconds where a word takes 1.2 nanoseconds.
const LIMIT: f64 = 125_000.0;
/// Least gain of two threads, of what raw words gain.
const GAIN: f64 = 0.9;
const WORDS: u64 = 20_000_000;
const KEY: TaskKey = TaskKey { seed: 1, cell: 2, replicate: 0, role: Role::Noise };

fn seconds(work: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    work();
    clock.elapsed().as_secs_f64()
}

fn words(replicate: u64) {
    let mut words = stream(TaskKey { replicate, ..KEY });
    black_box((0..WORDS).fold(0u64, |sum, _| sum ^ words.next_u64()));
}

/// State, counties, tracts, block groups, blocks.
fn tree(state: &str, most: usize) -> Hierarchy {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/country/block_groups_2010.parquet"));
    let table = CsvTable::read(path).expect("block groups");
    let (code, blocks) =
        (table.column("block_group").expect("codes"), table.column("blocks").expect("numbers"));
    let own = (0..table.len()).filter(|&row| table.text(row, code).starts_with(state)).take(most);
    let rows: Vec<usize> = own.collect();
    let (mut parents, mut above) = (vec![0], 0..1);
    for digits in [5, 11, 12] {
        let (mut last, mut at) = (String::new(), 0);
        let from = parents.len();
        for &row in &rows {
            let own = &table.text(row, code)[..digits];
            if own != last {
                let parent = &own[..if digits == 5 {
                    2
                } else if digits == 11 {
                    5
                } else {
                    11
                }];
                if !last.starts_with(parent) && !last.is_empty() {
                    at += 1;
                }
                parents.push(above.start + at);
                last = own.to_owned();
            }
        }
        above = from..parents.len();
    }
    for (row, group) in rows.iter().zip(above) {
        let number: usize = table.text(*row, blocks).parse().expect("a number");
        parents.extend(std::iter::repeat_n(group, number));
    }
    Hierarchy::from_parents(&parents).expect("a tree")
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
    };
    let pools =
        [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads"));
    let draw = |threads: usize| {
        pools[threads - 1].install(|| drop(black_box(gls.estimate(&Pool, 1 << 26, measure, see))));
    };
    if test {
        return draw(2);
    }
    let mut least = [f64::INFINITY; 4];
    for _ in 0..3 {
        let both = || drop((&Pool as &dyn Crew).each(vec![1, 2], |(): &mut (), replicate| words(replicate)));
        let now = [
            seconds(|| words(0)),
            seconds(|| pools[1].install(both)),
            seconds(|| draw(1)),
            seconds(|| draw(2)),
        ];
        least.iter_mut().zip(now).for_each(|(least, now)| *least = least.min(now));
    }
    let [word, twice, one, two] = least;
    let ratio = one / tree.nodes() as f64 / (word / WORDS as f64);
    let (gain, machine) = (one / two, 2.0 * word / twice);
    let verdict = |slow: bool| if slow { ": TOO SLOW" } else { "" };
    println!(
        "{} areas, {} leaves: {ratio:.0} words an area (limit {LIMIT}{}), {one:.1} s; two threads {gain:.2} times one, {:.2} of \
         what raw words \
         gain ({machine:.2}; limit {GAIN}{}); prepared in {prepare:.2} s; a word takes {:.3} ns",
        tree.nodes(),
        tree.leaves().len(),
        verdict(ratio > LIMIT),
        gain / machine,
        verdict(gain / machine < GAIN),
        word / WORDS as f64 * 1e9
    );
}
