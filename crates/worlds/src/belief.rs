//! Probabilities on finitely many worlds, and what learning does to them.

use congenial_core::{Error, Result};

/// The most worlds that a belief can have.
pub const MOST_WORLDS: usize = 128;

/// A set of worlds, each named by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(u128);

impl Event {
    /// The set of the given worlds. Panics at a world that is not below [`MOST_WORLDS`].
    pub fn of(worlds: impl IntoIterator<Item = usize>) -> Self {
        Self(worlds.into_iter().fold(0, |bits, world| {
            assert!(world < MOST_WORLDS, "world {world} of at most {MOST_WORLDS}");
            bits | (1 << world)
        }))
    }
    /// The first `worlds` worlds.
    pub fn all(worlds: usize) -> Self {
        Self::of(0..worlds)
    }
    /// Tells whether the world is in the set.
    pub fn contains(self, world: usize) -> bool {
        world < MOST_WORLDS && self.0 >> world & 1 == 1
    }
    /// The worlds of both sets.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The worlds of this set that are not in the other.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// The number of worlds in the set.
    pub fn size(self) -> usize {
        self.0.count_ones() as usize
    }
    /// The indices, in increasing order.
    pub fn worlds(self) -> impl Iterator<Item = usize> {
        (0..MOST_WORLDS).filter(move |&world| self.contains(world))
    }
    /// `{w : map(w) in self}`.
    pub fn preimage(self, map: &[usize]) -> Self {
        Self::of((0..map.len()).filter(|&world| self.contains(map[world])))
    }
}

/// A probability on the worlds `0..n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Belief {
    p: Vec<f64>,
}

impl Belief {
    /// The probability proportional to the weights. Refused: no weight or more than [`MOST_WORLDS`], a weight
    /// that is negative or not finite, a sum that is 0 or not finite.
    pub fn new(weights: Vec<f64>) -> Result<Self> {
        let total: f64 = weights.iter().sum();
        let fits = (1..=MOST_WORLDS).contains(&weights.len());
        if !fits || weights.iter().any(|w| w.is_nan() || *w < 0.0) || !(total > 0.0 && total.is_finite()) {
            return Err(Error::parameter(
                "weights of worlds",
                format!("{} weights with sum {total}", weights.len()),
                "1 to 128 finite weights >= 0 with a positive sum",
            ));
        }
        Ok(Self { p: weights.into_iter().map(|w| w / total).collect() })
    }

    /// The number of worlds.
    pub fn worlds(&self) -> usize {
        self.p.len()
    }
    /// The probabilities of the worlds.
    pub fn probabilities(&self) -> &[f64] {
        &self.p
    }
    /// `P(event)`.
    pub fn of(&self, event: Event) -> f64 {
        self.restricted(event).sum()
    }
    fn restricted(&self, event: Event) -> impl Iterator<Item = f64> {
        self.p.iter().enumerate().map(move |(world, &p)| if event.contains(world) { p } else { 0.0 })
    }

    /// Belief revision: `P(w | C) = P(w) / P(C)` on `C`, 0 elsewhere. Refused when `P(C) = 0`.
    pub fn conditioned(&self, event: Event) -> Result<Self> {
        if self.of(event) <= 0.0 {
            return Err(Error::parameter("event to condition on", "probability 0", "a positive probability"));
        }
        Self::new(self.restricted(event).collect())
    }

    /// The law of `map(w)`: world `w` gives its probability to world `map[w]`, out of `worlds`. With the map to
    /// the closest worlds of `C` this is belief update, equation (1) of "Two views".
    /// Refused when the map does not fit.
    pub fn moved(&self, map: &[usize], worlds: usize) -> Result<Self> {
        if map.len() != self.p.len() || map.iter().any(|&to| to >= worlds) {
            return Err(Error::parameter("map of worlds", map.len(), "one target for each world"));
        }
        let mut p = vec![0.0; worlds];
        for (&to, from) in map.iter().zip(&self.p) {
            p[to] += from;
        }
        Self::new(p)
    }

    /// `sum_i a_i P_i`, for weights `a_i >= 0` that are brought to sum 1. Refused when the sizes differ.
    pub fn mixture(parts: &[(f64, &Self)]) -> Result<Self> {
        let worlds = parts.first().map_or(0, |(_, belief)| belief.worlds());
        if parts.iter().any(|(_, belief)| belief.worlds() != worlds) {
            return Err(Error::parameter("parts of a mixture", parts.len(), "beliefs on the same worlds"));
        }
        Self::new((0..worlds).map(|w| parts.iter().map(|(a, belief)| a * belief.p[w]).sum()).collect())
    }

    /// The law of an independent pair; world `(i, j)` has index `i * other.worlds() + j`.
    pub fn product(&self, other: &Self) -> Result<Self> {
        Self::new(self.p.iter().flat_map(|p| other.p.iter().map(move |q| p * q)).collect())
    }

    /// The largest difference of the probabilities of a world; infinite when the worlds are not as many.
    pub fn distance(&self, other: &Self) -> f64 {
        if self.worlds() != other.worlds() {
            return f64::INFINITY;
        }
        self.p.iter().zip(&other.p).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max)
    }

    /// The information distance of "Two views", section 2: `I(P, P') = sum P'(w) ln(P'(w) / P(w))`, with `self`
    /// for `P`; infinite when `P'` has mass where `P` has none.
    pub fn information(&self, after: &Self) -> f64 {
        let term = |(&p, &q): (&f64, &f64)| match (p > 0.0, q > 0.0) {
            (_, false) => 0.0,
            (false, true) => f64::INFINITY,
            (true, true) => q * libm::log(q / p),
        };
        self.p.iter().zip(&after.p).map(term).sum()
    }
}
