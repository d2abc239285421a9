//! Releases of chains with what coupled pairs tell of them.

use crate::place::{Place, TABLE, TABLE_DATA};
use congenial::catalogue::LawKind;
use congenial::coupling::bound_term;
use congenial::study::cells::StatementRow;
use congenial::study::cells::{CellRow, Convergence};
use congenial::study::meeting::PairRow;
use congenial::study::release::{CertificateRow, ErrorRow};

const INVARIANT: &str = "\n[[invariant]]\nkind = \"subsets\"\ncolumns = [\"in_1\", \"in_2\"]\n";
const BLOCK: &str = "\n[certify]\npairs = 40\nlag = [30, 60]\nmax-steps = 100_000\n";

/// Releases by chains of several lengths, and without a chain.
fn releases(more: &str) -> String {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = ["l1", "discrete-gaussian"]
delta = 1e-6
method = ["exact", { kind = "line-gibbs", sweeps = [1, 3, 200] }]

[[grid]]
epsilon = 0.5
law = "laplace"
method = { kind = "line-gibbs", sweeps = 5 }
"#;
    format!("name = \"releases\"\nseed = 5\nreplicates = 6\n{TABLE_DATA}{INVARIANT}{more}{grid}")
}

fn meetings() -> String {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "l1"
method = "line-gibbs"
lag = [30, 60]
max-steps = 100_000
"#;
    format!("name = \"pairs\"\nstudy = \"meeting\"\nseed = 6\nreplicates = 40\n{TABLE_DATA}{INVARIANT}{grid}")
}

fn place(releases: &str) -> Place {
    Place::new(&[("table.csv", TABLE), ("releases.toml", releases), ("meetings.toml", &meetings())])
}

/// Where nothing is apart and the lag is shorter than the chain, nothing is stated.
fn check_unseen(row: &CertificateRow, cell: &CellRow) {
    assert_eq!((row.steps, row.lag, row.apart, row.pairs), (1200, Some(60), Some(0), Some(40)), "{row:?}");
    assert_eq!((row.bound, row.bound_high, cell.delta_sampling), (None, None, None), "{row:?}");
    assert!(row.unknown.contains("want a lag of at least 1200"), "{row:?}");
    assert_ne!(cell.converged, Convergence::Converged);
}

/// What every row says of its own figures.
fn check(row: &CertificateRow, cell: &CellRow) {
    let (Some(bound), Some(low), Some(high)) = (row.bound, row.bound_low, row.bound_high) else {
        panic!("no bound: {row:?}")
    };
    assert_eq!(row.pairs, Some(40));
    // The largest lag, whatever the others say; and no less than what 40 pairs can show.
    let unseen = 1.0 - libm::pow(0.05, 1.0 / 40.0);
    assert!(row.lag == Some(60) && row.unknown.is_empty(), "{row:?}");
    assert!(low <= bound && bound.min(1.0) <= high && high > unseen - 1e-9 && high <= 1.0, "{row:?}");
    let epsilon = (1.0 + cell.gamma.expect("equations alone")) * cell.epsilon_total;
    let delta = ((1.0 + libm::exp(epsilon)) * high).min(1.0);
    assert!((cell.delta_sampling.expect("certified") - delta).abs() < 1e-12, "{cell:?}");
    // A certificate, whatever R-hat of the second halves says; a limit of 1 is none.
    assert_eq!(cell.converged == Convergence::Certified, high < 1.0, "{cell:?}, at most {high}");
}

#[test]
fn a_study_of_meetings_certifies_the_same_chain() {
    let place = place(&releases("\n[report]\ncertify = \"pairs\"\n"));
    place.prints(&["run", "meetings.toml", "--out", "pairs"]);
    let text = place.pages("releases.toml", "out").replace('\n', " ");
    assert!(text.contains("pairs has no coupled pairs of this chain"), "{text}");
    let (cells, pairs) = (place.cells("out"), place.rows::<PairRow>("pairs"));
    let rows = place.rows::<CertificateRow>("out");
    // Seven cells have chains: three lengths of two laws, and one of real noise.
    assert_eq!(rows.len(), 7);
    for row in &rows {
        let cell = &cells[&row.cell];
        if cell.law != LawKind::L1 {
            assert_eq!((row.bound, cell.delta_sampling), (None, None), "{row:?}");
            continue;
        }
        // As many steps as the chain makes: a sweep has one for each entry.
        let sweeps: u64 =
            cell.options.split("sweeps=").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        assert_eq!(row.steps, 6 * sweeps);
        if sweeps == 200 {
            check_unseen(row, cell);
            continue;
        }
        check(row, cell);
        // The bound is that of the pairs with this lag.
        let lag = row.lag.unwrap();
        let taus: Vec<u64> =
            pairs.iter().filter(|pair| pair.lag == lag).map(|pair| pair.tau.expect("met")).collect();
        let terms: u64 = taus.iter().map(|tau| bound_term(tau - lag, lag, row.steps)).sum();
        assert_eq!(row.bound, Some(terms as f64 / taus.len() as f64));
        assert_eq!(row.apart, Some(taus.iter().filter(|&&tau| tau - lag > row.steps).count() as u64));
    }
    // Longer chains are closer to their law.
    let bound = |steps: u64| rows.iter().find(|row| row.steps == steps && row.bound.is_some()).unwrap();
    assert!(bound(6).bound > bound(18).bound);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("want a lag of at least 1200"), "{text}");
}

#[test]
fn pairs_of_its_own_certify_a_study() {
    let place = place(&releases(BLOCK));
    let text = place.pages("releases.toml", "out").replace('\n', " ");
    assert!(
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains("want a lag of at least 1200"),
        "{text}"
    );
    let (cells, rows) = (place.cells("out"), place.rows::<CertificateRow>("out"));
    assert_eq!(rows.len(), 7);
    for row in &rows {
        let cell = &cells[&row.cell];
        match row.steps {
            1200 => check_unseen(row, cell),
            _ => check(row, cell),
        }
    }
    // The same on one thread; and the releases are what they are without.
    place.prints(&["run", "releases.toml", "--out", "one", "--threads", "1"]);
    assert_eq!(rows, place.rows::<CertificateRow>("one"));
    place.write("without.toml", &releases(""));
    place.prints(&["run", "without.toml", "--out", "without"]);
    assert_eq!(place.rows::<ErrorRow>("out"), place.rows::<ErrorRow>("without"));
    // Resolved, it is the same study.
    place.prints(&["run", "out/config.resolved.toml", "--out", "resolved"]);
    assert_eq!(rows, place.rows::<CertificateRow>("resolved"));
    // Pairs that are cut short give no bound.
    let sets = ["--set", "certify.max-steps=61", "--set", "certify.lag=60", "--set", "grid.epsilon=0.01"];
    place.prints(&[&["run", "releases.toml", "--out", "cut"][..], &sets].concat());
    let cut = place.rows::<CertificateRow>("cut");
    assert!(cut.iter().any(|row| row.unknown.contains("of 40 pairs were cut short")), "{cut:?}");
}

/// Proposals that are narrower than the law: chains that agree with each other are far from it, and so are pairs that
/// meet at once. Of wider ones the weights say how far they are, whatever the lags.
#[test]
fn narrow_proposals_are_not_certified() {
    let data = "name = \"mis\"\nseed = 4\nreplicates = 100\n[data]\ntable = \"d.csv\"\ncount = \"n\"\n";
    let block = "[[invariant]]\nkind = \"total\"\n[certify]\npairs = 300\nlag = [1, 100, 1000]\n";
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\nmethod = \
        { kind = \"mis\", proposal-epsilon = [0.2, 0.5, 1.5, 2.0], steps = [10, 1000] }\n";
    let place =
        Place::new(&[("d.csv", "id,n\na,2\nb,0\nc,1\n"), ("mis.toml", &format!("{data}{block}{grid}"))]);
    let text = place.pages("mis.toml", "out").replace('\n', " ");
    let cells = place.cells("out");
    let rows = place.rows::<CertificateRow>("out");
    let statements = place.rows::<StatementRow>("out");
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let cell = &cells[&row.cell];
        let rate: f64 = cell
            .options
            .split("proposal-epsilon=")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let deltas =
            statements.iter().filter(|statement| statement.cell == row.cell && statement.epsilon.is_some());
        let deltas: Vec<Option<f64>> = deltas.map(|statement| statement.delta_sampling).collect();
        assert!(!deltas.is_empty());
        if rate > 0.5 {
            assert!(row.unknown.contains("narrower than the law"), "{row:?}");
            assert_eq!((row.bound, row.bound_high, cell.delta_sampling), (None, None, None), "{row:?}");
            assert!(deltas.iter().all(Option::is_none), "{deltas:?}");
            assert_ne!(cell.converged, Convergence::Converged, "{cell:?}");
        } else {
            let high = row.bound_high.expect("a limit");
            // (1 - 1/w)^10 of the largest weight w = P(0)/q(0), and at most what 200,000 proposals leave open.
            let share = |rate: f64| libm::pow(libm::tanh(rate / 2.0), 2.0) / MASS_AT_0;
            if row.steps == 10 {
                let exact = libm::pow(1.0 - share(rate), 10.0);
                assert!(high >= exact && high < 1.2 * exact, "{row:?} {exact}");
            } else {
                assert!(high < 1e-9, "{row:?}");
            }
            // Short chains may never move, and those that have are no draws of the chain's law.
            assert!(row.steps == 10 || deltas.iter().all(Option::is_some), "{deltas:?}");
        }
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no number of pairs shows"), "{text}");
}

/// The law `exp(-0.5 Σ |z_i|)` on the integers, three entries whose sum is 0.
const MASS_AT_0: f64 = 0.153279219636948;

#[test]
fn mistakes_are_named() {
    let place = place(&releases(BLOCK));
    let refused = |to: &str, wanted: &[&str]| {
        place.write("wrong.toml", &releases(to));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
        assert!(!place.path("wrong").exists() && !place.path("wrong.partial").exists());
    };
    let both = format!("{BLOCK}\n[report]\ncertify = \"pairs\"\n");
    refused(&both, &["certify: given twice", "not both"]);
    refused("\n[certify]\npairs = 0\nlag = 5\n", &["pairs: got 0"]);
    refused("\n[certify]\npairs = 9\n", &["missing field `lag`"]);
    refused("\n[certify]\npairs = 9\nlag = 7\nmax-steps = 7\n", &["lag: got 7, with max-steps 7"]);
    refused("\n[certify]\npairs = 9\nlag = 7\nlength = 7\n", &["unknown field `length`"]);
    refused("\n[report]\ncertify = \"nowhere\"\n", &["nowhere", "cannot read"]);
    place.write("without.toml", &releases(""));
    place.prints(&["run", "without.toml", "--out", "without"]);
    refused("\n[report]\ncertify = \"without\"\n", &["a run of the study `release`, want one of `meeting`"]);
}
