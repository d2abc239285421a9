//! What is said of the difference of two samples.

use crate::config::Thresholds;
use crate::diagnostics::student_quantile;
use crate::study::Sample;
use crate::table::Key;
use serde::Serialize;

/// What is said of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Both runs have the same values, replicate by replicate, bit for bit.
    Identical,
    /// The confidence interval of the difference lies within the margin.
    Equal,
    /// It lies neither within the margin nor beyond 0.
    Undecided,
    /// It excludes 0, and the candidate's error is smaller.
    Better,
    /// It excludes 0, and the candidate's error is larger.
    Worse,
}

impl Verdict {
    /// In words; `within`: of cells of one run nothing has changed.
    ///
    /// - `margin`: the share within which figures are equal; `None`: they have several.
    pub(super) fn told(self, within: bool, margin: Option<f64>) -> String {
        match self {
            Self::Identical => "identical".into(),
            Self::Equal => match margin {
                // As it was written: 100 times 0.07 is not 7.
                Some(margin) => format!("equal within {} %", (margin * 1e12).round() / 1e10),
                None => "equal within the margin".into(),
            },
            Self::Undecided => "undecided".into(),
            Self::Better if within => "smaller".into(),
            Self::Worse if within => "larger".into(),
            Self::Better => "changed for the better".into(),
            Self::Worse => "changed for the worse".into(),
        }
    }
}

/// One figure of two cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Key of the candidate's cell.
    pub cell: String,
    /// It in words; of cells of one run what tells it from the others.
    pub words: String,
    /// What cells of one run have in common; empty for other cells.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub among: String,
    /// The cell of the base.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub against: String,
    /// Where in the cell: a level, a lag, a part and scope, a statement.
    pub place: String,
    /// `l1`, `l2`: errors; `bias`: the mean error, judged by its size; `tau`: meeting times; `gamma`; `fails`: 1 if a
    /// statement does not hold as claimed. Less is better.
    pub metric: &'static str,
    /// Means of both.
    pub base: f64,
    /// See `base`.
    pub candidate: f64,
    /// Candidate less base, and its standard error.
    pub difference: f64,
    /// See `difference`; `None` for a single replicate, or if either has no spread.
    pub standard_error: Option<f64>,
    /// Degrees of freedom of that (Welch); `None` for what is computed and not drawn.
    pub freedom: Option<f64>,
    /// Half the width of the confidence interval.
    pub half_width: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// It in words; what is equal is so within a margin, which they name.
    pub told: String,
    /// Where nothing is decided, the replicates of each run with which the interval would be narrow enough to tell, if means
    /// and spreads stay as they are.
    pub replicates: Option<u64>,
    /// What margins are shares of.
    #[serde(skip)]
    unit: f64,
    /// Replicates of the run that has more.
    #[serde(skip)]
    count: u64,
}

/// Two cells, and how they are named.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) cell: Key,
    pub(super) words: String,
    pub(super) among: String,
    pub(super) against: String,
}

impl Compared {
    /// As far as it does not need the others.
    pub(super) fn of(
        pair: &Pair,
        place: &str,
        metric: &'static str,
        [base, candidate]: [&Sample; 2],
    ) -> Self {
        let [a, b] = [base, candidate].map(|sample| sample.moments.estimate());
        let counts = [base, candidate].map(|sample| sample.moments.count());
        let same = base.bits == candidate.bits && counts[0] == counts[1];
        let errors = [a.standard_error, b.standard_error].map(|se| se * se);
        let (standard_error, freedom) = match (base.computed, candidate.computed) {
            (true, true) => (Some(0.0), None),
            // A sample without spread, or of one replicate, says nothing of its error.
            _ if errors.iter().any(|square| !(square.is_finite() && *square > 0.0)) => (None, None),
            _ => {
                let sum = errors[0] + errors[1];
                let freedoms = counts.map(|count| count as f64 - 1.0);
                let welch =
                    sum * sum / (errors[0] * errors[0] / freedoms[0] + errors[1] * errors[1] / freedoms[1]);
                (Some(sum.sqrt()), Some(welch))
            }
        };
        Self {
            cell: pair.cell.to_string(),
            words: pair.words.clone(),
            among: pair.among.clone(),
            against: pair.against.clone(),
            place: place.to_owned(),
            metric,
            base: a.mean,
            candidate: b.mean,
            difference: b.mean - a.mean,
            standard_error,
            freedom,
            half_width: None,
            verdict: if same { Verdict::Identical } else { Verdict::Undecided },
            told: String::new(),
            replicates: None,
            unit: base.unit.unwrap_or(a.mean.abs()),
            count: counts[0].max(counts[1]),
        }
    }
}

/// Judges figures together; `within`: whether they are of cells of one run. For every one that is not identical the
/// confidence interval of the difference at 1 - level/m for m of them.
pub(super) fn judge(figures: &mut [Compared], rule: &Thresholds, within: bool) {
    let tested = figures.iter().filter(|figure| figure.verdict != Verdict::Identical).count().max(1);
    let tail = rule.level / (2.0 * tested as f64);
    for figure in figures.iter_mut().filter(|figure| figure.verdict != Verdict::Identical) {
        let Some(se) = figure.standard_error else { continue };
        let width = figure.freedom.map_or(0.0, |freedom| -student_quantile(tail, freedom));
        let (half, margin) = (width * se, rule.margin(figure.metric) * figure.unit);
        figure.half_width = Some(half);
        figure.verdict = if figure.difference.abs() + half <= margin {
            Verdict::Equal
        } else if figure.difference.abs() > half {
            if figure.candidate.abs() < figure.base.abs() { Verdict::Better } else { Verdict::Worse }
        } else {
            // Either within the margin, or beyond 0: what asks for less. The width falls as the root of the replicates.
            let wanted = (margin - figure.difference.abs()).max(figure.difference.abs());
            let times = (half / wanted) * (half / wanted);
            figure.replicates = times.is_finite().then(|| (figure.count as f64 * times).ceil() as u64);
            Verdict::Undecided
        };
    }
    for figure in figures {
        figure.told = figure.verdict.told(within, Some(rule.margin(figure.metric)));
    }
}
