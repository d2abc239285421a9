//! Small systems whose laws can be computed in full: some for every config, and random ones.

use crate::catalogue::{LawKind, MethodKind, OptionFacts, Place, Projection};
use crate::failure::Result;
use crate::grid::Plan;
use crate::input::{CsvTable, Subject};
use crate::rng::{Rng, Role, Stream, TaskKey, below, open01, stream};
use crate::study;
use std::fmt::Write;
use std::path::Path;

/// A config and its table, as they would be read from files.
#[derive(Debug, Clone)]
pub struct System {
    /// What the system is, for people.
    pub name: String,
    /// The config, in TOML.
    pub config: String,
    /// The table, in CSV.
    pub table: String,
}

impl System {
    /// Plans the system. Errors: what a config is refused for.
    pub fn plan(&self) -> Result<Plan> {
        let document = study::read(Path::new("system.toml"), &self.config, &[])?;
        let config = document.grid("one on data")?.remove(0);
        let table = CsvTable::from_reader(&config.data.table, self.table.as_bytes())?;
        Plan::on(config, table)
    }
}

/// Systems of the kind of a subject: trees with as many levels, in which counts of 0 stand beside large ones; small tables
/// under one total, two, and margins, without negative counts if the subject has inequalities.
pub fn like(subject: &Subject) -> Vec<(String, Subject)> {
    let systems = match subject {
        Subject::Hierarchy(table) => {
            let below = table.hierarchy.levels() - 1;
            let leaves = |a: &[i64], b: &[i64]| -> Vec<(u32, i64)> {
                a.iter().map(|&x| (0, x)).chain(b.iter().map(|&x| (1, x))).collect()
            };
            let many: Vec<i64> = vec![0; 60];
            vec![
                ("5 leaves, 3 of them 0", below, tree(&leaves(&[0, 0, 2], &[0, 7]), below, || "")),
                ("60 leaves of 0 beside 5000", below, tree(&leaves(&many, &[5000, 1]), below, || "")),
            ]
            .into_iter()
            .map(|(name, below, table)| {
                let levels: Vec<String> = (1..=below).map(|l| format!("l{l}")).collect();
                (name, format!("levels = {levels:?}"), table)
            })
            .collect::<Vec<_>>()
        }
        Subject::Table(table) => {
            let floors =
                if table.region.is_everything() { "" } else { "[[invariant]]\nkind = \"nonnegative\"\n" };
            let cells = "a,b,count\n0,0,1\n0,1,0\n0,2,2\n1,0,4\n1,1,1\n1,2,0\n";
            let some = |n: usize| cells.lines().take(n + 1).collect::<Vec<_>>().join("\n");
            let system = |name, invariant: &str, table| {
                (name, format!("entry = [\"a\", \"b\"]\n[[invariant]]\n{invariant}\n{floors}"), table)
            };
            vec![
                system("a total of 3 entries", "kind = \"total\"", some(3)),
                system("totals of 3 and 2", "kind = \"partition\"\nby = \"a\"", some(5)),
                system("margins of 2 × 3", "kind = \"margins\"\nrows = \"a\"\ncolumns = \"b\"", some(6)),
            ]
        }
    };
    systems
        .into_iter()
        .filter_map(|(name, data, table)| {
            let grid = "[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"unconstrained\"\n";
            let config = format!(
                "name = \"s\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{data}\n{grid}"
            );
            let plan = System { name: name.to_owned(), config, table }.plan().ok()?;
            Some((name.to_owned(), plan.subject))
        })
        .collect()
}

/// A tree as CSV: leaves by their node on the first level below the root, which goes straight down from there; `mark`: what marks
/// the next of them as known.
fn tree(leaves: &[(u32, i64)], below: usize, mut mark: impl FnMut() -> &'static str) -> String {
    let levels: Vec<String> = (1..=below).map(|l| format!("l{l}")).collect();
    let mut text = format!("{},count,known\n", levels.join(","));
    for (i, (group, count)) in leaves.iter().enumerate() {
        for _ in 1..below {
            write!(text, "{group},").expect("memory");
        }
        writeln!(text, "leaf{i},{count},{}", mark()).expect("memory");
    }
    text
}

/// The random system of a seed and a number: a tree or a table, a law, a budget of 0.01 to 700, one method.
pub fn random(seed: u64, number: u64) -> System {
    let mut rng = stream(TaskKey { seed, cell: number, replicate: 0, role: Role::Start });
    if below(&mut rng, 2) == 0 { random_tree(&mut rng, seed) } else { random_table(&mut rng, seed) }
}

fn pick<'a, T>(rng: &mut Stream, from: &'a [T]) -> &'a T {
    &from[below(rng, from.len() as u64) as usize]
}

/// A random number between the bounds, evenly on a logarithmic scale.
fn spread(rng: &mut Stream, low: f64, high: f64) -> f64 {
    low * libm::exp(open01(rng) * libm::log(high / low))
}

fn head(rng: &mut Stream, seed: u64, replicates: u64, data: &str) -> String {
    let own = rng.next_u64() >> 20;
    format!(
        "name = \"random\"\nseed = {}\nreplicates = {replicates}\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{data}\n",
        seed ^ own
    )
}

/// The leaves of a random tree, each with its node on the first level and its count: small counts beside large ones,
/// and a random share of 0.
fn random_leaves(rng: &mut Stream) -> Vec<(u32, i64)> {
    let groups = 1 + below(rng, 3) as u32;
    // Small trees, as a rule; in some a node has hundreds of leaves.
    let most = *pick(rng, &[3, 3, 6, 6, 25, 120, 2000]);
    let zeros = open01(rng);
    let mut leaves = Vec::new();
    for group in 0..groups {
        let n = if group == 0 { spread(rng, 1.0, most as f64) as u64 } else { 1 + below(rng, 4) };
        for _ in 0..n {
            let count = if open01(rng) < zeros {
                0
            } else {
                match below(rng, 4) {
                    0 => spread(rng, 1.0, 1e6) as i64,
                    _ => 1 + below(rng, 6) as i64,
                }
            };
            leaves.push((group, count));
        }
    }
    leaves
}

/// Methods whose releases on a tree of so many leaves can be compared with an oracle in a short time, each as often as
/// it is to be drawn; `large`: more leaves than most methods can have there.
fn kinds_on_tree(leaves: usize, large: bool) -> &'static [&'static str] {
    let kinds = &[
        "exact",
        "exact",
        "exact",
        "unconstrained",
        "release",
        "line-gibbs",
        "l2",
        "topdown",
        "topdown-real",
        "bluedown",
        "hierarchical-mh",
    ];
    let most = if large {
        4
    } else if leaves > 6 {
        10
    } else {
        11
    };
    &kinds[..most]
}

/// A split of the budget among so many levels, as a config writes it: a word, or shares that sum to 1. `words`: no shares, for a
/// chain whose proposals suit one scale, and a sampler that refuses wide noise.
fn random_split(rng: &mut Stream, levels: usize, words: bool) -> String {
    match below(rng, if words { 2 } else { 4 }) {
        0 => "\"each\"".to_owned(),
        1 => "\"even\"".to_owned(),
        _ => {
            let parts: Vec<f64> = (0..levels).map(|_| spread(rng, 0.01, 1.0)).collect();
            let total: f64 = parts.iter().sum();
            let mut shares: Vec<f64> =
                parts.iter().map(|x| libm::rint(x / total * 1e4).max(1.0) * 1e-4).collect();
            let others: f64 = shares[1..].iter().sum();
            shares[0] = libm::rint((1.0 - others) * 1e4) * 1e-4;
            if shares[0] <= 0.0 {
                "\"even\"".to_owned()
            } else {
                format!("[[{}]]", shares.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn random_tree(rng: &mut Stream, seed: u64) -> System {
    let below_root = 1 + below(rng, 3) as usize;
    let leaves = random_leaves(rng);
    let large = leaves.len() > 30;
    let law =
        *pick(rng, &["double-geometric", "double-geometric", "discrete-gaussian", "laplace", "gaussian"]);
    let real = matches!(law, "laplace" | "gaussian");
    let levels = below_root + 1;
    let floors = below(rng, 3) > 0;
    let kind = *pick(rng, kinds_on_tree(leaves.len(), large));
    let words = matches!(kind, "hierarchical-mh" | "release");
    let epsilon = match large {
        _ if words => spread(rng, 0.3, 3.0),
        true => spread(rng, 0.05, 20.0),
        false => spread(rng, 0.01, 700.0),
    };
    // The total, some leaves, or nodes on the first level.
    let name = |level: u64| if level == 0 { "total".to_owned() } else { format!("l{level}") };
    let (whole, marked) = match below(rng, 6) {
        0 => (1, 0.0),
        1 => (below(rng, 2) as usize, 0.3),
        2 if below_root > 1 => (2, 0.1),
        _ => (0, 0.0),
    };
    let known: Vec<String> = (0..whole as u64).map(name).collect();
    let table = tree(&leaves, below_root, || match open01(rng) < marked {
        true => *pick(rng, &["1", "1", "l1"]),
        false => "",
    });
    let levels = levels - whole;
    let split = random_split(rng, levels, words);
    let (options, replicates) = match kind {
        "line-gibbs" => (format!(", sweeps = 400, nonnegative = {floors}"), 300),
        "hierarchical-mh" => (format!(", steps = 60000, nonnegative = {floors}"), 300),
        "exact" => (format!(", nonnegative = {}", floors && !real), 3000),
        _ => (String::new(), 1500),
    };
    let names: Vec<String> = (1..=below_root).map(|l| format!("l{l}")).collect();
    let data = format!("levels = {names:?}\nknown = {known:?}\nknown-column = \"known\"");
    let mut config = head(rng, seed, replicates, &data);
    let delta = if law.ends_with("gaussian") { "delta = 1e-6\n" } else { "" };
    write!(
        config,
        "[[grid]]\nepsilon = {epsilon}\nlaw = \"{law}\"\n{delta}split = {split}\nmethod = {{ kind = \"{kind}\"{options} }}\n"
    )
    .expect("memory");
    let name = format!(
        "{} leaves, {} of them 0, known {known:?} and {marked} of the others, {levels} levels, {law} {epsilon:.3}, \
            split {split}, {kind}{options}",
        leaves.len(),
        leaves.iter().filter(|(_, x)| *x == 0).count()
    );
    let system = System { name, config, table };
    // Where nothing would be left, nothing is known.
    match system.plan() {
        Err(_) if whole > 0 || marked > 0.0 => random_tree(rng, seed),
        _ => system,
    }
}

fn random_table(rng: &mut Stream, seed: u64) -> System {
    let d = 2 + below(rng, 4) as usize;
    let mut table = "id,g,h,count\n".to_owned();
    for i in 0..d {
        let count = if below(rng, 3) == 0 { 0 } else { below(rng, 7) };
        writeln!(table, "{i},{},{},{count}", i % 2, i / 2).expect("memory");
    }
    let coefficients = |rng: &mut Stream| -> String {
        let row: Vec<String> = (0..d).map(|_| (below(rng, 5) as i64 - 2).to_string()).collect();
        format!("[{}]", row.join(", "))
    };
    let mut invariants = match below(rng, 4) {
        _ if d == 4 && below(rng, 2) == 0 => {
            "[[invariant]]\nkind = \"margins\"\nrows = \"g\"\ncolumns = \"h\"\n".to_owned()
        }
        0 => "[[invariant]]\nkind = \"total\"\n".to_owned(),
        1 => "[[invariant]]\nkind = \"partition\"\nby = \"g\"\n".to_owned(),
        _ => {
            let rows: Vec<String> = (0..=below(rng, 2)).map(|_| coefficients(rng)).collect();
            format!("[[invariant]]\nkind = \"matrix\"\nrows = [{}]\n", rows.join(", "))
        }
    };
    use LawKind::{DiscreteGaussian, DoubleGeometric, Gaussian, L1, L2, Laplace};
    let law = *pick(rng, &[L1, L1, DoubleGeometric, DiscreteGaussian, L2, Laplace, Gaussian]);
    let bounded = below(rng, 2) == 0;
    if bounded {
        match below(rng, 3) {
            0 => invariants += "[[invariant]]\nkind = \"bounds\"\nlower = 0\nupper = 12\n",
            _ => invariants += "[[invariant]]\nkind = \"nonnegative\"\n",
        }
        if below(rng, 3) == 0 {
            let row = coefficients(rng);
            write!(invariants, "[[invariant]]\nkind = \"at-least\"\nrows = [{row}]\nvalues = [-15]\n")
                .expect("memory");
        }
    }
    let totals = !invariants.contains("matrix") && !invariants.contains("margins");
    let place = Place::Table { inequalities: bounded };
    let serves = |kind: &&MethodKind| {
        let method = kind.with(OptionFacts::default);
        let of_totals =
            matches!(method.projection(), Some(Projection::L1 { .. })) || kind.name() == "release";
        method.serves(law, place).is_ok() && (totals || !of_totals)
    };
    let kinds: Vec<&MethodKind> = MethodKind::ALL.iter().filter(serves).collect();
    let real = law.is_continuous();
    let (kind, law) = (pick(rng, &kinds).name(), law.name());
    let (options, replicates) = match kind {
        "line-gibbs" => (", sweeps = 2000", 300),
        "lattice-metropolis" => (", steps = 20000", 300),
        "mis" => (", steps = 20000", 300),
        "l1" => (", beta = 0.4", 1000),
        "rejection" if real && below(rng, 2) == 0 => (", from = \"unconstrained\"", 1000),
        _ => ("", 1000),
    };
    // Chains that propose blindly stand still where almost nothing is likely.
    let epsilon = match kind {
        "lattice-metropolis" | "mis" | "rejection" => spread(rng, 0.3, 3.0),
        "exact" | "line-gibbs" | "release" => spread(rng, 0.1, 700.0),
        _ => spread(rng, 0.01, 700.0),
    };
    let mut config = head(rng, seed, replicates, &format!("entry = [\"id\"]\n{invariants}"));
    let delta = if law.ends_with("gaussian") { "delta = 1e-6\n" } else { "" };
    write!(
        config,
        "[[grid]]\nepsilon = {epsilon}\nlaw = \"{law}\"\n{delta}method = {{ kind = \"{kind}\"{options} }}\n"
    )
    .expect("memory");
    let name = format!(
        "{d} entries, {law} {epsilon:.3}, {kind}, {}",
        invariants.replace("[[invariant]]\n", "").replace('\n', " ")
    );
    System { name, config, table }
}
