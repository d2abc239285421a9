//! What constraints imply: bounds of entries, entries that cannot move, rows that ask for nothing new.

use super::inequalities::{Bounded, Region};
use super::linear::{Component, connected};
use super::side::{NO_LOWER, NO_UPPER};
use crate::lattice::Row;

/// Passes over the equations in [`Bounded::tightened`].
const PASSES: usize = 3;
/// Explicit rows, from the first, that are compared with the rest.
const MOST_ROWS: usize = 64;
/// Passes over everything in [`Bounded::narrowed`]; bounds that go on closing in are still bounds.
const MOST_PASSES: usize = 16;

impl Bounded {
    /// The region with tighter bounds, which the equations imply: `a_i z_i = -Σ a_j z_j` over the other entries.
    pub fn tightened(&self) -> Region {
        let mut region = self.region.clone();
        narrow(&mut region, &self.component.rows, &[], PASSES);
        region
    }

    /// The region with tighter bounds, which the equations and the explicit rows imply; `None` if they leave nothing.
    pub(crate) fn narrowed(&self) -> Option<Region> {
        let mut region = self.region.clone();
        let rows = std::mem::take(&mut region.rows);
        let some = narrow(&mut region, &self.component.rows, &rows, MOST_PASSES);
        region.rows = rows;
        some.then_some(region)
    }

    /// Describes the same points by fewer constraints: entries that can only be 0 are left out, and so are explicit
    /// rows (of the first 64) that the bounds of entries imply; what is then tied no more is parted. The entries left
    /// out have no noise.
    ///
    /// For regions that contain 0, as every [`Region`] of a table does.
    pub fn reduced(&self) -> Vec<Self> {
        let Some(within) = self.narrowed() else { return Vec::new() };
        let n = self.component.entries.len();
        let free: Vec<u32> =
            (0..n as u32).filter(|&i| within.lower[i as usize] < within.upper[i as usize]).collect();
        let mut own = self.on(&free, &self.component.rows, &self.region.rows);
        let mut i = 0;
        for _ in 0..own.region.rows.len().min(MOST_ROWS) {
            let (row, least) = own.region.rows.remove(i);
            if !own.implies(&row, least) {
                own.region.rows.insert(i, (row, least));
                i += 1;
            }
        }
        own.parted()
    }

    /// Whether `row·z >= least` within the bounds that everything else implies.
    fn implies(&self, row: &Row, least: i64) -> bool {
        let Some(within) = self.narrowed() else { return true };
        let lowest: Option<i128> = row.iter().map(|entry| extremes(entry, &within)[0]).sum();
        lowest.is_some_and(|lowest| lowest >= i128::from(least))
    }

    /// Restricts the component to some of its entries, the others being 0.
    fn on(&self, entries: &[u32], equations: &[Row], rows: &[(Row, i64)]) -> Self {
        let kept = |row: &Row| -> Row {
            let place = |&(entry, a): &(u32, i64)| entries.binary_search(&entry).ok().map(|i| (i as u32, a));
            row.iter().filter_map(place).collect()
        };
        let equations: Vec<Row> = equations.iter().map(kept).filter(|row| !row.is_empty()).collect();
        let rows = rows.iter().map(|(row, least)| (kept(row), *least));
        let (lower, upper) = (&self.region.lower, &self.region.upper);
        Self {
            region: Region {
                lower: entries.iter().map(|&i| lower[i as usize]).collect(),
                upper: entries.iter().map(|&i| upper[i as usize]).collect(),
                rows: rows.filter(|(row, _)| !row.is_empty()).collect(),
            },
            component: Component::of(
                entries.iter().map(|&i| self.component.entries[i as usize]).collect(),
                equations,
            ),
        }
    }

    /// Parts the component into what equations and explicit rows tie together.
    fn parted(&self) -> Vec<Self> {
        let (equations, rows) = (&self.component.rows, &self.region.rows);
        let all: Vec<&Row> = equations.iter().chain(rows.iter().map(|(row, _)| row)).collect();
        connected(self.component.entries.len(), &all)
            .into_iter()
            .map(|(part, members)| {
                let first = members.partition_point(|&i| i < equations.len());
                let own: Vec<Row> = members[..first].iter().map(|&i| equations[i].clone()).collect();
                let explicit: Vec<(Row, i64)> =
                    members[first..].iter().map(|&i| rows[i - equations.len()].clone()).collect();
                self.on(&part.entries, &own, &explicit)
            })
            .collect()
    }

    /// The points of it from which a step `b` stays inside: `R` and `R - b` at once. `b` on the component's own entries.
    pub(crate) fn with_step(&self, b: &[(u32, i32)]) -> Self {
        let mut both = self.clone();
        for &(entry, c) in b {
            let (entry, c) = (entry as usize, i64::from(c));
            let (lower, upper) = (both.region.lower[entry], both.region.upper[entry]);
            if c < 0 && lower != NO_LOWER {
                both.region.lower.set(entry, lower.saturating_sub(c));
            } else if c > 0 && upper != NO_UPPER {
                both.region.upper.set(entry, upper.saturating_sub(c));
            }
        }
        for (row, least) in &mut both.region.rows {
            *least = least.saturating_add((-super::inequalities::slope(row, b)).max(0));
        }
        both
    }

    /// Whether a point and the point moved by `b` could both lie within: whether the bounds that all constraints on both
    /// imply leave anything. `b` on the component's own entries. A `false` is certain.
    pub(crate) fn fits(&self, b: &[(u32, i32)]) -> bool {
        self.with_step(b).narrowed().is_some()
    }
}

/// Least and largest value of a term `a z`; `None` without a bound.
fn extremes(&(entry, a): &(u32, i64), region: &Region) -> [Option<i128>; 2] {
    let (lower, upper) = (region.lower[entry as usize], region.upper[entry as usize]);
    let at = |bound: i64, none: i64| (bound != none).then(|| i128::from(a) * i128::from(bound));
    let (low, high) = (at(lower, NO_LOWER), at(upper, NO_UPPER));
    if a > 0 { [low, high] } else { [high, low] }
}

/// Narrows the bounds to what every single constraint leaves of them, in so many passes as long as something changes;
/// whether they leave anything.
fn narrow(region: &mut Region, equations: &[Row], rows: &[(Row, i64)], passes: usize) -> bool {
    let equations = equations.iter().map(|row| (row, 0, &[0, 1][..]));
    let constraints = equations.chain(rows.iter().map(|(row, least)| (row, *least, &[1][..])));
    for _ in 0..passes {
        let mut changed = false;
        for (row, constant, sides) in constraints.clone() {
            let terms: Vec<[Option<i128>; 2]> = row.iter().map(|entry| extremes(entry, region)).collect();
            for &side in sides {
                let open = terms.iter().filter(|term| term[side].is_none()).count();
                let sum: i128 = terms.iter().filter_map(|term| term[side]).sum();
                for (&(entry, a), term) in row.iter().zip(&terms) {
                    // The others are all bounded on this side, so this term is on the other.
                    if open > usize::from(term[side].is_none()) {
                        continue;
                    }
                    let limit = i128::from(constant) - (sum - term[side].unwrap_or(0));
                    let entry = entry as usize;
                    let (quotient, a) = (limit / i128::from(a), i128::from(a));
                    // Side 0 bounds the term above, side 1 below; rounded towards the inside.
                    let inexact = limit % a != 0;
                    let upper = (side == 0) == (a > 0);
                    let negative = (limit < 0) != (a < 0);
                    let bound = match (upper, inexact && negative, inexact && !negative) {
                        (true, true, _) => quotient - 1,
                        (false, _, true) => quotient + 1,
                        _ => quotient,
                    };
                    let Ok(bound) = i64::try_from(bound) else { continue };
                    if upper && bound < region.upper[entry] {
                        region.upper.set(entry, bound);
                        changed = true;
                    } else if !upper && bound > region.lower[entry] {
                        region.lower.set(entry, bound);
                        changed = true;
                    }
                    if region.lower[entry] > region.upper[entry] {
                        return false;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    // Bounds that contradict each other before any constraint is looked at.
    let bounded = region.lower.bounds().len().min(region.upper.bounds().len());
    (0..bounded).all(|entry| region.lower[entry] <= region.upper[entry])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, Linear};
    use crate::kernel::fuzz::systems::{points, table};
    use crate::testing::test_stream;

    /// Reduced regions have the same points: each of them splits into points of the parts, and there are as many as the parts have
    /// together.
    #[test]
    fn reduced_regions_have_the_same_points() {
        let mut rng = test_stream(93);
        let (mut systems, mut fewer) = (0, 0);
        for _ in 0..400 {
            let Some((name, equations, region)) = table(&mut rng, true) else { continue };
            let Some(all) = points(&equations, &region, 30) else { continue };
            if all.iter().flatten().any(|z| z.abs() == 30) {
                continue;
            }
            systems += 1;
            let whole = region.whole(&equations);
            let (narrowed, tightened) = (whole.narrowed().expect("it holds 0"), whole.tightened());
            assert!(all.iter().all(|z| narrowed.contains(z) && tightened.contains(z)), "{name}");
            let parts = whole.reduced();
            let joined = Region::joined(&parts);
            let moving: Vec<u32> = parts.iter().flat_map(|part| part.component.entries.clone()).collect();
            fewer += usize::from(moving.len() < equations.entries() || joined.rows.len() < region.rows.len());
            let mut product = 1;
            for Bounded { component, region } in &parts {
                let n = component.entries.len();
                let own = Linear::from_rows(n, component.rows.clone()).unwrap_or(Linear::none(n));
                product *= points(&own, region, 30).expect("fewer than all").len();
            }
            assert_eq!(product, all.len(), "{name}");
            for z in &all {
                let fixed = (0u32..).zip(z).filter(|(i, _)| !moving.contains(i));
                assert!(fixed.map(|(_, z)| *z).all(|z| z == 0) && joined.contains(z), "{name}");
            }
        }
        assert!(systems > 150 && fewer > 80, "{systems} {fewer}");
    }

    /// A table whose first row is empty is a smaller table; rows that bounds imply go.
    #[test]
    fn what_is_left() {
        let margins = Linear::margins(3, 3).unwrap();
        let region = Inequalities::nonnegative(9).around(&[0, 0, 0, 1, 2, 0, 3, 0, 4]).unwrap();
        let parts = region.whole(&margins).reduced();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].component.entries, [3, 4, 5, 6, 7, 8]);
        assert_eq!(parts[0].component.margins, Some((2, 3)));
        let total = Linear::total(3).unwrap();
        let rows = vec![(vec![(0, 1), (1, 1)], 0), (vec![(0, 2), (1, 2)], 0), (vec![(0, 1), (1, -1)], -9)];
        let inequalities = Inequalities::nonnegative(3).and(Inequalities::rows(rows).unwrap());
        let region = inequalities.around(&[1, 2, 3]).unwrap();
        let parts = region.whole(&total).reduced();
        assert!(parts.len() == 1 && parts[0].region.rows.is_empty());
    }
}
