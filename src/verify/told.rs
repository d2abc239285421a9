//! What was found of a method, in words.

use super::{Checked, Finding, OnSystem, Oracle};

/// What is told of a method.
pub const TOLD: [&str; 10] = [
    "law",
    "epsilon",
    "method",
    "releases",
    "invariant",
    "against",
    "p",
    "computed laws",
    "least p",
    "finding",
];

impl Checked {
    /// What was found in words, in the order of [`TOLD`].
    pub fn told(&self) -> [String; 10] {
        let (oracle, p) = match &self.oracle {
            Oracle::None(_) => ("-".to_owned(), "-".to_owned()),
            Oracle::Method(words, agreement) => (words.clone(), agreement.p_text()),
            Oracle::Again(same) => {
                (if *same { "again: same" } else { "again: others" }.to_owned(), String::new())
            }
            Oracle::Variance(off, error) => {
                (format!("variance: off by {off:.3} ± {error:.3}"), String::new())
            }
        };
        let computed: Vec<f64> = self.computed.iter().filter_map(OnSystem::p).collect();
        let least = computed.iter().copied().min_by(f64::total_cmp);
        let nonnegative = if self.cell.nonnegative { " >= 0" } else { "" };
        let (name, options) = self.cell.at.method.title();
        [
            self.cell.at.law.name().to_owned(),
            self.cell.epsilon.to_string(),
            format!("{name}{nonnegative} {options}").trim().to_owned(),
            self.releases.to_string(),
            match self.kept {
                None => "not promised".into(),
                Some(_) if self.releases == 0 => "-".into(),
                Some(kept) if kept == self.releases => "kept".into(),
                Some(kept) => format!("broken by {}", self.releases - kept),
            },
            oracle,
            p,
            format!("{} of {}", computed.len(), self.computed.len()),
            least.map_or("-".into(), |p| if p >= 0.9995 { "1".into() } else { format!("{p:.1e}") }),
            match self.finding() {
                Finding::Fine => "fine".into(),
                Finding::NotCompared => "not compared".into(),
                Finding::Wrong if self.error.is_some() => "failed".into(),
                Finding::Wrong if self.cell.at.method.is_chain() => "WRONG, or too few steps".into(),
                Finding::Wrong => "WRONG".into(),
            },
        ]
    }
}
