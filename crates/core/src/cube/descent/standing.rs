//! Estimates of the tables of children, and what is settled of them.

use super::super::query::Marginal;
use super::super::small::known;
use super::Table;

/// The estimates of the tables of some nodes, with their covariances.
pub(super) struct Standing {
    /// By kind of nodes, by kind of coefficients, a matrix over the joined attributes; and of which kind each node is.
    pub(super) covariances: Vec<Vec<Vec<f64>>>,
    pub(super) of: Vec<u32>,
    /// Node by node, the coefficients of its estimate.
    pub(super) estimates: Vec<f64>,
    /// Combinations of the joined attributes.
    pub(super) joint: usize,
}

impl Standing {
    /// Estimates of the answers of a query.
    pub(super) fn of(&self, query: &Marginal) -> Self {
        // The kinds of the attributes that it names, of which its own are made.
        let bits: Vec<usize> = (0..32).filter(|bit| query.named >> bit & 1 == 1).collect();
        let kind = |own: usize| -> usize {
            bits.iter().enumerate().filter(|(at, _)| own >> at & 1 == 1).map(|(_, bit)| 1 << bit).sum()
        };
        let covariance = |own: &Vec<Vec<f64>>, kind: usize| -> Vec<f64> {
            let entry = |one: &Vec<u32>, other: &Vec<u32>| -> f64 {
                let pairs = one.iter().flat_map(|&i| other.iter().map(move |&j| (i as usize, j as usize)));
                query.factor * query.factor * pairs.map(|(i, j)| own[kind][i * self.joint + j]).sum::<f64>()
            };
            query.rows.iter().flat_map(|one| query.rows.iter().map(move |other| entry(one, other))).collect()
        };
        let covariances = self
            .covariances
            .iter()
            .map(|own| (0..1 << bits.len()).map(|of| covariance(own, kind(of))).collect());
        let mut estimates = Vec::new();
        let cells = self.estimates.len() / self.of.len();
        for own in self.estimates.chunks_exact(cells) {
            query.coefficients(own, cells / self.joint, &mut estimates);
        }
        Self { covariances: covariances.collect(), of: self.of.clone(), estimates, joint: query.rows.len() }
    }

    /// Moves the estimates to what is settled of a query's answers, and takes it from their covariances.
    ///
    /// - `tables`: by node, of the answers.
    /// - `kinds`: by coefficient of the free attributes its kind.
    pub(super) fn know(&mut self, query: &Marginal, tables: &[Table], kinds: &[usize]) {
        let (joint, free) = (self.joint, kinds.len());
        let take = |own: &mut Vec<Vec<f64>>| -> Vec<Vec<Vec<f64>>> {
            let of_kind = |(kind, own): (usize, &mut Vec<f64>)| {
                let rows = if query.reaches(kind as u32) { query.weights(joint) } else { Vec::new() };
                known(own, rows.iter().map(Vec::as_slice))
            };
            own.iter_mut().enumerate().map(of_kind).collect()
        };
        let gains: Vec<_> = self.covariances.iter_mut().map(take).collect();
        let length = query.places.len();
        let (mut rest, mut before) = (vec![0.0; query.answers()], Vec::new());
        let all = self.estimates.chunks_exact_mut(joint * free).zip(tables).zip(&self.of);
        for ((own, table), &kind) in all {
            rest.fill(0.0);
            table.places.iter().zip(&table.counts).for_each(|(&at, &count)| rest[at as usize] = count as f64);
            query.forward(&mut rest);
            before.clear();
            query.coefficients(own, free, &mut before);
            rest.iter_mut().zip(&before).for_each(|(rest, before)| *rest -= before);
            for (at, &place) in query.places.iter().enumerate() {
                let gains = &gains[kind as usize][kinds[place as usize]];
                for (gains, rest) in gains.iter().zip(rest.chunks_exact(length)) {
                    for (j, gain) in gains.iter().enumerate() {
                        own[j * free + place as usize] += gain * rest[at];
                    }
                }
            }
        }
    }
}
