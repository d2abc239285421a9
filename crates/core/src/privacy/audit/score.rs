//! Scores of releases: the larger, the more likely they are of the first table and not of the second.

/// Draws from one table: by column its value in every draw.
pub type Columns = Vec<Vec<f64>>;

/// What is looked at of a release: one column, or what two give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A column.
    One(usize),
    /// The sum of two columns.
    Sum(usize, usize),
    /// The first of two columns less the second.
    Difference(usize, usize),
}

impl Form {
    fn of(self, draws: &Columns, draw: usize) -> f64 {
        match self {
            Self::One(a) => draws[a][draw],
            Self::Sum(a, b) => draws[a][draw] + draws[b][draw],
            Self::Difference(a, b) => draws[a][draw] - draws[b][draw],
        }
    }
}

/// A score of releases.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// A column that is one: the logarithm of a likelihood ratio.
    Given(usize),
    /// The sum of what was learned of some forms, as if these were independent.
    Learned(Vec<Ratio>),
}

/// The logarithm of the likelihood ratio of a form's values, as draws from both tables have it in each of some intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    form: Form,
    /// Where each interval begins, but for the first; ascending.
    edges: Vec<f64>,
    /// By interval, the logarithm of the ratio.
    logs: Vec<f64>,
}

/// Intervals of a form at most, and the fewest draws of one, both tables together.
const INTERVALS: usize = 256;
/// See [`INTERVALS`].
const FEWEST: usize = 16;

impl Ratio {
    /// A value that comes often has an interval of its own: an atom among reals, and every likely integer.
    fn learned(form: Form, draws: [&Columns; 2]) -> Self {
        let values = |of: usize| (0..draws[of][0].len()).map(move |draw| (form.of(draws[of], draw), of));
        let mut all: Vec<(f64, usize)> = values(0).chain(values(1)).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let enough = FEWEST.max(all.len() / INTERVALS);
        let number = draws.map(|draws| draws[0].len());
        let (mut edges, mut logs) = (Vec::new(), Vec::new());
        let mut hits = [0u32; 2];
        // An interval ends where it has enough, and before a value that alone has enough.
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            let own = hits[0] + hits[1];
            if own as usize >= enough || (own > 0 && run.len() >= enough) {
                logs.push(log_ratio(hits, number));
                edges.push(run[0].0);
                hits = [0; 2];
            }
            run.iter().for_each(|&(_, of)| hits[of] += 1);
        }
        logs.push(log_ratio(hits, number));
        Self { form, edges, logs }
    }

    fn of(&self, draws: &Columns, draw: usize) -> f64 {
        let x = self.form.of(draws, draw);
        self.logs[self.edges.partition_point(|&edge| edge <= x)]
    }
}

/// Of so many draws of either table, of so many.
fn log_ratio([a, b]: [u32; 2], draws: [usize; 2]) -> f64 {
    let share = |hits: u32, draws: usize| (f64::from(hits) + 0.5) / (draws as f64 + 1.0);
    libm::log(share(a, draws[0]) / share(b, draws[1]))
}

impl Score {
    /// Learns scores from draws of both tables: of each form, and of the first `together` of them together.
    pub fn learned(forms: &[Form], together: usize, draws: [&Columns; 2]) -> Vec<Self> {
        let ratios: Vec<Ratio> = forms.iter().map(|&form| Ratio::learned(form, draws)).collect();
        let several = ratios[..together].to_vec();
        let mut scores: Vec<Self> = ratios.into_iter().map(|ratio| Self::Learned(vec![ratio])).collect();
        if several.len() > 1 {
            scores.push(Self::Learned(several));
        }
        scores
    }

    /// The score of one draw.
    pub(super) fn of(&self, draws: &Columns, draw: usize) -> f64 {
        match self {
            Self::Given(column) => draws[*column][draw],
            Self::Learned(ratios) => ratios.iter().map(|ratio| ratio.of(draws, draw)).sum(),
        }
    }
}
