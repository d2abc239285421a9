//! Which coordinates of a cone are 0 on all of it, in exact arithmetic.

use super::elimination::clear;
use super::exact::Exact;
use super::matrix::IntMatrix;

/// Tells of each coordinate whether it is signed and 0 everywhere on the cone
/// `{s : R s = 0, s_j >= 0 where j is signed}`.
///
/// - `relations`: R, one relation per row.
/// - `signed`: by column; the other coordinates may be anything.
///
/// For every other signed coordinate the cone has a point where it is > 0, and so, by adding those points up,
/// one where all of them are. By the simplex method on the homogeneous tableau with Bland's rule, on
/// integers: no rounding, no cycles.
pub(crate) fn vanishing(relations: &IntMatrix, signed: &[bool]) -> Vec<bool> {
    run::<i128>(relations, signed)
        .or_else(|| run::<dashu_int::IBig>(relations, signed))
        .expect("big integers do not overflow")
}

/// Relations, each solved for one signed coordinate that stands in no other.
struct Tableau<T> {
    rows: Vec<Vec<T>>,
    basic: Vec<usize>,
}

fn run<T: Exact>(relations: &IntMatrix, signed: &[bool]) -> Option<Vec<bool>> {
    let columns = relations.columns();
    let mut tableau = Tableau::<T>::new(relations, signed)?;
    let (mut zero, mut positive) = (vec![false; columns], vec![false; columns]);
    for j in (0..columns).filter(|&j| signed[j]) {
        while !zero[j] && !positive[j] {
            // Which coordinate to raise so that s_j rises: itself, or one that it rises with.
            let own = tableau.basic.iter().position(|&basic| basic == j);
            let entering = match own {
                None => Some(j),
                Some(i) => (0..columns).find(|&k| tableau.along(i, k) > 0),
            };
            let Some(k) = entering else {
                // s_j is minus a sum of coordinates >= 0: all of them are 0.
                let row = tableau.rows[own.expect("it is solved for")].clone();
                for k in (0..columns).filter(|&k| !row[k].is_zero()) {
                    zero[k] = true;
                    if k != j {
                        tableau.rows.iter_mut().for_each(|row| row[k] = T::of(0));
                    }
                }
                break;
            };
            let falls = (0..tableau.rows.len()).filter(|&i| tableau.along(i, k) < 0);
            match falls.min_by_key(|&i| tableau.basic[i]) {
                Some(i) => tableau.exchange(i, k)?,
                None => {
                    positive[k] = true;
                    (0..tableau.rows.len())
                        .filter(|&i| tableau.along(i, k) > 0)
                        .for_each(|i| positive[tableau.basic[i]] = true);
                }
            }
        }
    }
    Some(zero)
}

impl<T: Exact> Tableau<T> {
    /// Builds the tableau. Coordinates without a sign are solved for first: their relations then bind nothing. `None`:
    /// overflow.
    fn new(relations: &IntMatrix, signed: &[bool]) -> Option<Self> {
        let mut open: Vec<Vec<T>> =
            (0..relations.rows()).map(|i| relations.row(i).iter().map(|&x| T::of(x)).collect()).collect();
        let mut tableau = Self { rows: Vec::new(), basic: Vec::new() };
        for wanted in [false, true] {
            for j in (0..signed.len()).filter(|&j| signed[j] == wanted) {
                let Some(at) = open.iter().position(|row| !row[j].is_zero()) else { continue };
                let row = open.swap_remove(at);
                for other in open.iter_mut().chain(&mut tableau.rows) {
                    clear(other, &row, j)?;
                }
                if wanted {
                    tableau.rows.push(row);
                    tableau.basic.push(j);
                }
            }
        }
        Some(tableau)
    }

    /// The sign of the change of the coordinate that row `i` is solved for when coordinate `k`, not solved for, rises.
    fn along(&self, i: usize, k: usize) -> i32 {
        let (own, other) = (&self.rows[i][self.basic[i]], &self.rows[i][k]);
        if other.is_zero() || k == self.basic[i] {
            0
        } else if own.is_negative() == other.is_negative() {
            -1
        } else {
            1
        }
    }

    /// Solves row `i` for coordinate `k`. `None`: overflow.
    fn exchange(&mut self, i: usize, k: usize) -> Option<()> {
        let row = std::mem::take(&mut self.rows[i]);
        for other in self.rows.iter_mut().filter(|other| !other.is_empty()) {
            clear(other, &row, k)?;
        }
        self.rows[i] = row;
        self.basic[i] = k;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;

    /// Random relations on few coordinates against the definition: a signed coordinate vanishes iff no point
    /// of the cone with small integer coordinates has it positive (extreme rays of these cones are that
    /// small).
    #[test]
    fn coordinates_vanish_iff_no_small_point_has_them() {
        let mut rng = crate::testing::test_stream(77);
        let (mut some, mut none) = (0, 0);
        for _ in 0..3000 {
            let (rows, columns) = (1 + below(&mut rng, 3) as usize, 2 + below(&mut rng, 3) as usize);
            let mut relations = IntMatrix::zero(rows, columns);
            for i in 0..rows {
                for j in 0..columns {
                    relations[(i, j)] = below(&mut rng, 3) as i64 - 1;
                }
            }
            let signed: Vec<bool> = (0..columns).map(|_| below(&mut rng, 4) > 0).collect();
            let mut want = signed.clone();
            const REACH: i64 = 5;
            let side = 2 * REACH + 1;
            for index in 0..side.pow(columns as u32) {
                let s: Vec<i64> = (0..columns).map(|j| index / side.pow(j as u32) % side - REACH).collect();
                let inside = s.iter().zip(&signed).all(|(s, signed)| *s >= 0 || !signed)
                    && (0..rows).all(|i| crate::lattice::inner(relations.row(i), &s) == 0);
                if inside {
                    want.iter_mut().zip(&s).for_each(|(want, s)| *want &= *s <= 0);
                }
            }
            assert_eq!(vanishing(&relations, &signed), want, "{relations:?} {signed:?}");
            *(if want.contains(&true) { &mut some } else { &mut none }) += 1;
            assert_eq!(run::<dashu_int::IBig>(&relations, &signed), run::<i128>(&relations, &signed));
        }
        assert!(some > 300 && none > 300, "{some} {none}");
    }
}
