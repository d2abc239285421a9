//! Double geometric jumps, alone and in coupled pairs.

use crate::error::{Error, Result};
use crate::rng::{AliasLanes, AliasRows, LANES, Packed, PackedLanes, Rng, Row, Streams, open01};

/// Double geometric jumps, `P(e) ∝ a^|e|`, drawn by [`Packed`], cut symmetrically where less than 1e-18 lies beyond.
#[derive(Debug)]
pub(super) struct Jumps {
    law: Packed,
    /// a^0, a^1, … up to twice the reach; and how many of 2^52 numbers lie below each, with none at the end.
    powers: Vec<f64>,
    below: Vec<u64>,
    /// The largest |e|.
    pub reach: i32,
    /// `1 / -ln a`.
    pub scale: f64,
    /// By distance: what is left of the law of a jump where its overlap with the other's is taken away (at distance 0
    /// nothing is; what is drawn is never used). Empty if the reach is too large.
    residuals: AliasRows,
}

/// What [`Jumps::pairs`] looks up.
pub(super) struct PairLanes<'a> {
    law: PackedLanes<'a>,
    residuals: AliasLanes,
}

/// Distances with a table of their residual, and the largest reach for which tables are made.
const TABLED: i32 = 24;
const TABLED_REACH: usize = 512;

impl Jumps {
    /// Builds the tables. Errors: `a` outside (0, 0.9999].
    pub fn new(a: f64) -> Result<Self> {
        if !(a > 0.0 && a <= 0.9999) {
            return Err(Error::parameter("a", a, "a number in (0, 0.9999]"));
        }
        let rate = -libm::log(a);
        let reach = libm::ceil(42.0 / rate).max(1.0) as usize;
        let weight = |k: usize| if k == 0 { 1.0 } else { 2.0 * libm::exp(-rate * k as f64) };
        let law = Packed::new(&(0..=reach).map(weight).collect::<Vec<_>>());
        let powers: Vec<f64> = (0..=2 * reach).map(|k| libm::exp(-rate * k as f64)).collect();
        let numbers = powers.iter().map(|p| libm::ceil(p * (1u64 << 52) as f64) as u64);
        let below = numbers.chain([0]).collect();
        let (reach, scale) = (reach as i32, 1.0 / rate);
        let mut residuals = AliasRows::default();
        if reach as usize <= TABLED_REACH {
            (0..=TABLED).for_each(|apart| residuals.push(-i64::from(reach), &residual(&law, reach, apart)));
        }
        Ok(Self { law, powers, below, reach, scale, residuals })
    }

    /// The probability `P(e)` of a jump.
    #[cfg(test)]
    pub fn p(&self, e: i32) -> f64 {
        self.law.p(e)
    }

    /// Fills `jumps` with independent jumps.
    #[inline]
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, jumps: &mut [i32]) {
        self.law.fill(rng, jumps, |jump, e| *jump = e);
    }

    /// Jumps `(e, e')` of two coordinates at distance `apart` = v - w, each with the law of a jump, with
    /// `v + e = w + e'` as often as possible: the maximal coupling.
    #[inline]
    pub fn pair<R: Rng + ?Sized>(&self, rng: &mut R, apart: i64) -> (i32, i32) {
        let (e, bits) = self.law.with_bits(rng);
        let other = if self.is_near(apart) {
            self.near(rng.next_u64(), (e, bits), apart as i32)
        } else {
            self.distant(rng, (e, bits), apart)
        };
        (e, other)
    }

    /// Whether the residual at a distance is tabled.
    #[inline]
    fn is_near(&self, apart: i64) -> bool {
        apart.unsigned_abs() < self.residuals.rows() as u64
    }

    /// The other jump of a pair at a distance of which the residual is tabled.
    #[inline(always)]
    fn near(&self, word: u64, (e, bits): (i32, u64), apart: i32) -> i32 {
        // Both ways are worked out and one is taken, without a branch that no processor could predict.
        let other = apart.signum() * self.residuals.at(apart.unsigned_abs() as usize, word) as i32;
        let joint = e + apart;
        let further = (joint.abs() - e.abs()).max(0);
        let keep = if joint.abs() <= self.reach { self.below[further as usize] } else { 0 };
        if bits < keep { joint } else { other }
    }

    /// What chains side by side draw their jumps from; `None` where jumps do not fit into 16 bits.
    pub fn lanes(&self) -> Option<PackedLanes<'_>> {
        PackedLanes::new(&self.law)
    }

    /// What coupled pairs side by side draw their jumps from; `None` where these have no tables.
    pub fn pair_lanes(&self) -> Option<PairLanes<'_>> {
        let law = self.lanes().filter(|_| self.is_near(0))?;
        Some(PairLanes { law, residuals: self.residuals.lanes() })
    }

    /// Draws jumps of a coupled pair in every lane: as [`Jumps::pair`] from the lane's stream.
    #[inline(always)]
    pub fn pairs(
        &self,
        lanes: &PairLanes,
        streams: &mut Streams,
        apart: &Row<i64>,
        (first, other): (&mut Row<i16>, &mut Row<i16>),
    ) {
        let bits = lanes.law.with_bits(streams, first);
        let e = *first;
        // Arithmetic on registers, then look-ups, then arithmetic again: [`Jumps::near`] in parts.
        let far = self.residuals.rows() as i64 - 1;
        let never = self.below.len() as i16 - 1;
        let (mut some_far, mut near) = (false, Row([0i16; LANES]));
        for l in 0..LANES {
            some_far |= apart.0[l].abs() > far;
            near.0[l] = apart.0[l].clamp(-far, far) as i16;
        }
        let (mut distance, mut further) = (Row([0u16; LANES]), Row([0u16; LANES]));
        for l in 0..LANES {
            let (size, joint) = (e.0[l].abs(), (e.0[l] + near.0[l]).abs());
            distance.0[l] = near.0[l].unsigned_abs();
            further.0[l] = if joint > self.reach as i16 { never } else { (joint - size).max(0) } as u16;
        }
        let residuals = lanes.residuals.at(&distance, &streams.words());
        let (mut keeps, below) = (Row([0u64; LANES]), &self.below[..]);
        for l in 0..LANES {
            keeps.0[l] = below[usize::from(further.0[l])];
        }
        let mut second = Row([0i16; LANES]);
        for l in 0..LANES {
            let own = if near.0[l] < 0 { -residuals.0[l] } else { residuals.0[l] };
            second.0[l] = if bits.0[l] < keeps.0[l] { e.0[l] + near.0[l] } else { own };
        }
        *other = second;
        if some_far {
            self.some_distant(streams, (first, &bits), apart, other);
        }
    }

    /// The lanes without a table of the residual: they have taken one word too many.
    #[cold]
    #[inline(never)]
    fn some_distant(
        &self,
        streams: &mut Streams,
        (first, bits): (&Row<i16>, &Row<u64>),
        apart: &Row<i64>,
        other: &mut Row<i16>,
    ) {
        for l in (0..LANES).filter(|&l| !self.is_near(apart.0[l])) {
            streams.step_back(l);
            let first = (i32::from(first.0[l]), bits.0[l]);
            other.0[l] = self.distant(&mut streams.lane(l), first, apart.0[l]) as i16;
        }
    }

    /// The other jump of a pair where there is no table of the residual.
    #[cold]
    fn distant<R: Rng + ?Sized>(&self, rng: &mut R, (e, bits): (i32, u64), apart: i64) -> i32 {
        if apart == 0 {
            return e;
        }
        // Further apart than two jumps reach nothing is shared.
        let far = 3 * i64::from(self.reach);
        let apart = apart.clamp(-far, far) as i32;
        let joint = e + apart;
        let further = (joint.abs() - e.abs()).max(0);
        if joint.abs() <= self.reach && bits < self.below[further as usize] {
            return joint;
        }
        self.reject(rng, apart)
    }

    /// Draws from the residual by rejection: a jump that the other law would not have kept.
    fn reject<R: Rng + ?Sized>(&self, rng: &mut R, apart: i32) -> i32 {
        loop {
            let other = self.law.with_bits(rng).0;
            let there = other - apart;
            let further = there.abs() - other.abs();
            let kept =
                there.abs() <= self.reach && (further <= 0 || open01(rng) < self.powers[further as usize]);
            if !kept {
                return other;
            }
        }
    }
}

/// The law `∝ max(0, η(e) - η(e - apart))` on `-reach, …`, for `apart` > 0; a single value for 0.
fn residual(law: &Packed, reach: i32, apart: i32) -> Vec<f64> {
    match apart {
        0 => vec![1.0],
        _ => (-reach..=apart / 2).map(|e| (law.p(e) - law.p(e - apart)).max(0.0)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashMap;

    #[test]
    fn table_is_the_double_geometric() {
        for a in [0.05, libm::exp(-2.5), libm::exp(-1.0), 0.9] {
            let jumps = Jumps::new(a).unwrap();
            let norm = (1.0 - a) / (1.0 + a);
            let mut total = 0.0;
            for e in -jumps.reach..=jumps.reach {
                let want = norm * libm::pow(a, e.unsigned_abs() as f64);
                assert!((jumps.p(e) - want).abs() < 2e-16, "{a} {e}: {} {want}", jumps.p(e));
                total += jumps.p(e);
            }
            assert!((total - 1.0).abs() < 1e-15);
        }
        assert!(Jumps::new(1.0).is_err() && Jumps::new(0.0).is_err() && Jumps::new(f64::NAN).is_err());
    }

    /// Batches and single draws, decided by 11 bits or by all, have the table's law; the bits that come with a
    /// single draw are independent of it.
    #[test]
    fn jumps_have_their_law() {
        let jumps = Jumps::new(libm::exp(-1.0)).unwrap();
        let mut rng = test_stream(5);
        let mut some = [0i32; 9];
        let mut batch = HashMap::<i32, u64>::new();
        let mut single = HashMap::<(i32, bool), u64>::new();
        let draws = 40_000;
        for _ in 0..draws {
            jumps.fill(&mut rng, &mut some);
            some.iter().for_each(|&e| *batch.entry(e).or_default() += 1);
            let (e, bits) = jumps.law.with_bits(&mut rng);
            *single.entry((e, bits < 1 << 51)).or_default() += 1;
        }
        let count = |e| batch.get(&e).copied().unwrap_or(0);
        assert_frequencies((-20..=20).map(|e| (count(e), jumps.p(e))), 9 * draws);
        let count = |e, low| single.get(&(e, low)).copied().unwrap_or(0);
        let both = (-20..=20).flat_map(|e| [(e, true), (e, false)]);
        assert_frequencies(both.map(|(e, low)| (count(e, low), 0.5 * jumps.p(e))), draws);
    }

    /// Both jumps of a coupled pair have the law of one, and they lead to the same place as often as can be; by the
    /// tables of the residual and by rejection, which is their plain reference.
    #[test]
    fn pairs_have_their_marginals() {
        let tabled = Jumps::new(libm::exp(-1.0)).unwrap();
        let mut rejecting = Jumps::new(libm::exp(-1.0)).unwrap();
        rejecting.residuals = AliasRows::default();
        let mut rng = test_stream(4);
        for jumps in [&tabled, &rejecting] {
            for apart in [0i64, 1, -3, 24, 40, 100, -1_000_000_000_000] {
                let draws = 100_000;
                let mut seen = HashMap::<(u8, i32), u64>::new();
                let mut together = 0u64;
                for _ in 0..draws {
                    let (e, other) = jumps.pair(&mut rng, apart);
                    *seen.entry((0, e)).or_default() += 1;
                    *seen.entry((1, other)).or_default() += 1;
                    together += u64::from(i64::from(e) + apart == i64::from(other));
                }
                let count = |which, e| seen.get(&(which, e)).copied().unwrap_or(0);
                for which in [0, 1] {
                    assert_frequencies((-20..=20).map(|e| (count(which, e), jumps.p(e))), draws);
                }
                let near = apart.clamp(-1000, 1000) as i32;
                let overlap: f64 = (-200..=200).map(|e| jumps.p(e).min(jumps.p(e + near))).sum();
                if overlap < 1.0 - 1e-9 && overlap > 1e-4 {
                    assert_frequencies([(together, overlap), (draws - together, 1.0 - overlap)], draws);
                } else if apart == 0 {
                    assert_eq!(together, draws);
                } else {
                    // At most 10 expected.
                    assert!(together < 60, "{together}");
                }
            }
        }
    }
}
