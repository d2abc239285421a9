//! An invariant as a set of reals: its affine hull, and the inequalities that bound it there.

use super::inequalities::{Bounded, Region};
use super::linear::Linear;
use crate::error::{Error, Result};
use crate::lattice::{IntMatrix, Row, vanishing};

/// The reals `{z : A z = 0, z in the region}` with every equality written as one: no inequality holds with
/// equality on all of them, so that within the equations the region has an interior.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hull {
    /// A, with an equation for every bound and every row that the others turn into one.
    pub equations: Linear,
    /// The other inequalities.
    pub region: Region,
}

/// Entries of the matrix whose implied equalities are looked for.
const MAX_SIZE: usize = 1 << 24;

impl Hull {
    /// The inequalities contain 0, so that only those that hold with equality at 0 can do so everywhere;
    /// among them, those that are 0 on the whole cone `{d : A d = 0, d satisfies them}` do, and no others.
    /// Found exactly, whatever the point at which one looks: the hull is that of the invariant, not of the
    /// counts.
    ///
    /// Errors: a component with more than 2^24 coefficients that could be bound in this way.
    pub fn new(equations: &Linear, region: &Region) -> Result<Self> {
        let mut fixed = vec![false; equations.entries()];
        let mut implied: Vec<Row> = Vec::new();
        for bounded in region.components(equations) {
            let (entries, rows) = tight(&bounded)?;
            let place = |i: u32| bounded.component.entries[i as usize];
            entries.into_iter().for_each(|i| fixed[place(i) as usize] = true);
            let placed = |row: &Row| row.iter().map(|&(i, b)| (place(i), b)).collect();
            implied.extend(rows.into_iter().map(|i| placed(&bounded.region.rows[i].0)));
        }
        if implied.is_empty() && !fixed.contains(&true) {
            return Ok(Self { equations: equations.clone(), region: region.clone() });
        }
        let free =
            |row: &Row| -> Row { row.iter().copied().filter(|&(entry, _)| !fixed[entry as usize]).collect() };
        let units =
            (0..fixed.len() as u32).filter(|&entry| fixed[entry as usize]).map(|entry| vec![(entry, 1)]);
        let rows = equations.rows().iter().map(free).chain(implied.iter().map(free)).chain(units);
        let mut rest = Region::everything();
        for entry in (0..fixed.len()).filter(|&entry| !fixed[entry]) {
            rest.lower.set(entry, region.lower[entry]);
            rest.upper.set(entry, region.upper[entry]);
        }
        let open = region.rows.iter().filter(|(row, least)| *least < 0 || !implied.contains(row));
        rest.rows = open.map(|(row, least)| (free(row), *least)).filter(|(row, _)| !row.is_empty()).collect();
        Ok(Self { equations: Linear::from_rows(fixed.len(), rows.collect())?, region: rest })
    }

    /// The components, each with an interior: those with no free dimension are left out.
    ///
    /// Errors: coefficients beyond 64 bits; no free dimension at all.
    pub fn components(&self) -> Result<Vec<Bounded>> {
        let mut free = Vec::new();
        for bounded in self.region.components(&self.equations) {
            if !bounded.component.is_fixed()? {
                free.push(bounded);
            }
        }
        if free.is_empty() { Err(Error::no_free_dimension()) } else { Ok(free) }
    }
}

/// Entries that are 0 and explicit rows that hold with equality on the whole component.
fn tight(bounded: &Bounded) -> Result<(Vec<u32>, Vec<usize>)> {
    let Bounded { component, region } = bounded;
    let n = component.entries.len();
    let at = |i: usize| (region.lower[i] == 0, region.upper[i] == 0);
    let active: Vec<usize> = (0..region.rows.len()).filter(|&i| region.rows[i].1 == 0).collect();
    let fixed = (0..n).filter(|&i| at(i) == (true, true)).map(|i| i as u32);
    if active.is_empty() && (0..n).all(|i| matches!(at(i), (false, false))) {
        return Ok((Vec::new(), Vec::new()));
    }
    let (rows, columns) = (component.rows.len() + active.len(), n + active.len());
    if rows.saturating_mul(columns) > MAX_SIZE {
        return Err(Error::TooLarge {
            what: "the affine hull of the inequalities".into(),
            needed: (rows as u64).saturating_mul(columns as u64),
            limit: MAX_SIZE as u64,
            unit: "coefficients",
        });
    }
    // Coordinates: +-d_i, so that a bound reads >= 0, then what the active rows have above their bounds.
    let mut relations = IntMatrix::zero(rows, columns);
    let mut signed = vec![false; columns];
    for (i, row) in component.rows.iter().chain(active.iter().map(|&i| &region.rows[i].0)).enumerate() {
        for &(entry, a) in row {
            let entry = entry as usize;
            relations[(i, entry)] = match at(entry) {
                (true, true) => 0,
                (false, true) => {
                    a.checked_neg().ok_or_else(|| Error::Invariant("a coefficient of -2^63".into()))?
                }
                _ => a,
            };
        }
    }
    for (i, signed) in signed.iter_mut().enumerate().take(n) {
        *signed = matches!(at(i), (true, false) | (false, true));
    }
    for i in 0..active.len() {
        relations[(component.rows.len() + i, n + i)] = -1;
        signed[n + i] = true;
    }
    let zero = vanishing(&relations, &signed);
    let entries = fixed.chain((0..n).filter(|&i| signed[i] && zero[i]).map(|i| i as u32)).collect();
    let rows = active.iter().enumerate().filter(|&(k, _)| zero[n + k]).map(|(_, &i)| i).collect();
    Ok((entries, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, NO_LOWER};

    fn hull(equations: &Linear, inequalities: Inequalities, counts: &[i64]) -> Hull {
        Hull::new(equations, &inequalities.around(counts).unwrap()).unwrap()
    }

    /// A total that is 0 fixes counts that are not negative; so does one of two totals; others stay as they are.
    #[test]
    fn empty_totals_are_fixed() {
        let equations = Linear::partition(&[0, 0, 1, 1, 1]).unwrap();
        let found = hull(&equations, Inequalities::nonnegative(5), &[0, 0, 0, 3, 0]);
        assert_eq!(found.components().unwrap().len(), 1);
        assert_eq!(found.components().unwrap()[0].component.entries, [2, 3, 4]);
        assert!(
            found.equations.rows().contains(&vec![(0, 1)]) && found.equations.rows().contains(&vec![(1, 1)])
        );
        assert_eq!(found.region.lower.of(5), [NO_LOWER, NO_LOWER, 0, -3, 0]);
        let open = hull(&equations, Inequalities::nonnegative(5), &[1, 0, 0, 3, 0]);
        assert_eq!(open.equations, equations);
        assert!(hull(&equations, Inequalities::nonnegative(5), &[0; 5]).components().is_err());
    }

    /// Integers between -1 and 1 whose double is bounded by 1 are 0; reals are not.
    #[test]
    fn reals_are_not_tightened_as_integers_are() {
        let equations = Linear::from_rows(2, vec![vec![(0, 2), (1, -1)]]).unwrap();
        let region = Inequalities::bounds(vec![-1, -1], vec![1, 1]).unwrap();
        let found = hull(&equations, region, &[0, 0]);
        assert_eq!(found.equations, equations);
    }

    /// Rows: y1 + y2 >= 4 and y1 + y2 <= 4 are an equation; y1 + y2 + y3 = 4 then fixes y3; a row that only
    /// touches the counts stays.
    #[test]
    fn opposite_rows_are_an_equation() {
        let equations = Linear::total(3).unwrap();
        let rows = |last: i64| {
            Inequalities::rows(vec![
                (vec![(0, 1), (1, 1)], 4),
                (vec![(0, -1), (1, -1)], -last),
                (vec![(0, 1), (1, -1)], 2),
            ])
            .unwrap()
        };
        let found = hull(&equations, rows(4), &[3, 1, 0]);
        let components = found.components().unwrap();
        assert_eq!(components.len(), 1, "{components:?}");
        assert_eq!(components[0].region.rows.len(), 1);
        assert_eq!(
            components[0].component.independent_rows().unwrap().len() + 1,
            components[0].component.entries.len()
        );
        assert_eq!(hull(&equations, rows(5), &[3, 1, 0]).equations, equations);
    }
}
