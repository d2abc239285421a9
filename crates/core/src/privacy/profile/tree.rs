//! What integer noise on the nodes of a tree loses, given its sums, for every change of one record.
//!
//! A record counts on every node from its leaf up to one that is known, or to the root. The loss of an outcome z is the
//! sum of `ln w_v(z_v)/w_v(z_v - u_v)` over the nodes that the change u changes, all of them on one path or two. So the
//! passes of the exact sampler give its law, with the loss as one more index on the path: with the table `T_c(l, s)` of
//! a node's child on the path and those of all siblings together, `S(t)`,
//!
//! `T_v(l + loss_v(s), s) = w_v(s) Σ_t T_c(l, t) S(s - t)`,
//!
//! up to the root, or up to the two nodes whose parent both paths meet at, which with all else has the weight
//! `R(t)` of their sum: `Σ T_a(l, -s) T_b(l', t) R(s + t)` for the loss `l + l'`, a record less in a and one more in b.
//!
//! The law of the noise is even, so that z and -z turn a change into its opposite: both tables of a pair see one law of
//! losses. Leaves with equal surroundings are looked at once.
//!
//! **What is cut.** Tables ([`Table`]) end where less than 1e-18 of their mass is left, and know what they lost. All are even
//! and log-concave, and so is the weight of everything else; conditioned on that, no tail is heavier. The mass of all cuts
//! counts as a loss of its own, the largest that there is.

use super::entry::{largest, loss, square, unit};
use super::grid::{STEPS, spread};
use super::losses::Losses;
use crate::error::{Error, Result};
use crate::exact::Table;
use crate::exact::table::{TRUNCATION, reach};
use crate::inference::shapes::{Shapes, Under};
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Multiplications of the tables of all changes.
const MOST: f64 = 2e10;
/// Changes that differ.
const MOST_CHANGES: usize = 20_000;

/// Refuses to look at more changes. Errors: [`Error::TooLarge`].
pub(super) fn check_changes(found: usize) -> Result<()> {
    if found <= MOST_CHANGES {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "changes of one record that differ".into(),
        needed: found as u64,
        limit: MOST_CHANGES as u64,
        unit: "changes",
    })
}

/// The losses of a change by 1 of each of some nodes with free noise. `laws`: of those nodes.
///
/// Errors: a scale so large that the table of a law has more than 2^18 entries ([`Error::TooLarge`]).
pub(super) fn of_free<L: IntegerLaw>(laws: &[L]) -> Result<Losses> {
    let step = step(laws);
    let mut all: Option<Losses> = None;
    for law in laws {
        let table = Table::of_law(law, i64::MIN, i64::MAX)?;
        let weights = table
            .support()
            .zip(table.entries())
            .flat_map(|(z, weight)| spread(step, loss(law, z)).map(|(place, share)| (place, weight * share)));
        let weights: Vec<(i64, f64)> = weights.collect();
        let one = losses(step, &weights, table.lost() + TRUNCATION, &[*law]);
        all = Some(match all {
            None => one,
            Some(all) => all.and(&one),
        });
    }
    Ok(all.unwrap_or_else(|| Losses::pure(0.0)))
}

/// The losses of a change by 1 of each of some nodes, by their place on a grid.
fn losses<L: IntegerLaw>(step: f64, weights: &[(i64, f64)], beyond: f64, laws: &[L]) -> Losses {
    Losses::new(step, weights, beyond, laws.iter().map(largest).sum()).moved_by(laws.iter().map(square).sum())
}

/// A step that the losses of some nodes together are multiples of, if there is one of no more than 32 in the least of
/// them; else one with about 4,096 of it in all that they can lose.
fn step<L: IntegerLaw>(laws: &[L]) -> f64 {
    let range: f64 = laws.iter().map(|law| unit(law) * (2 * reach(law) + 1) as f64).sum();
    let range = range.min(2.0 * laws.iter().map(largest).sum::<f64>());
    let units: Vec<f64> = laws.iter().map(unit).collect();
    common(&units).filter(|step| range / step <= STEPS).unwrap_or(range / STEPS)
}

/// The largest step that all units are multiples of, if there is one of no more than 32 in the least of them.
pub(super) fn common(units: &[f64]) -> Option<f64> {
    let least = units.iter().copied().fold(f64::INFINITY, f64::min);
    let divides = |parts: &f64| {
        units.iter().all(|unit| {
            let ratio = unit / least * parts;
            (ratio - libm::round(ratio)).abs() < 1e-13 * ratio
        })
    };
    (1..=32).map(f64::from).find(divides).map(|parts| least / parts)
}

/// The sum of no nodes.
fn nothing() -> Table {
    Table::from_weights(0, vec![1.0], 0.0, TRUNCATION).expect("a weight above 0")
}

/// A node with its surroundings: nodes with equal ones are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    shape: u32,
    /// `None`: a known node, or the root.
    above: Option<u32>,
}

/// A table on the path of a change: by loss, in steps, the weights of the node's noise on `-reach..=reach`.
#[derive(Debug)]
struct Path {
    rows: BTreeMap<i64, Vec<f64>>,
    reach: i64,
}

/// The losses of every change of one record on a tree, one of each sort of leaves.
pub(super) struct Walk<'a, L> {
    laws: &'a [Option<L>],
    shapes: Shapes,
    step: f64,
    /// By shape: its table; what it lost with all below, of a known node what those below lost.
    tables: Vec<(Table, f64)>,
    /// By shape and number: the sum of so many.
    powers: HashMap<(u32, u32), Rc<Table>>,
    places: Vec<Place>,
    /// By place: those of its children.
    under: Vec<Vec<u32>>,
    paths: HashMap<(u32, u32), Rc<Path>>,
    around: HashMap<u32, Rc<Table>>,
    /// Multiplications.
    done: f64,
}

impl<'a, L: IntegerLaw> Walk<'a, L> {
    /// Prepares the tables of all subtrees. `laws`: one per level, `None` where the level has no noise.
    ///
    /// Errors: tables of more than 2^18 entries, or of more than 2e10 multiplications ([`Error::TooLarge`]).
    pub(super) fn new(tree: &Hierarchy, laws: &'a [Option<L>]) -> Result<Self> {
        tree.check_one_per_level("laws", laws.len())?;
        let shapes = Shapes::of(tree, &vec![[0, 0]; tree.leaves().len()]);
        let noisy: Vec<L> = laws.iter().flatten().copied().collect();
        let mut walk = Self {
            laws,
            step: if noisy.is_empty() { 1.0 } else { step(&noisy) },
            tables: Vec::new(),
            powers: HashMap::new(),
            places: Vec::new(),
            under: Vec::new(),
            paths: HashMap::new(),
            around: HashMap::new(),
            done: 0.0,
            shapes,
        };
        for shape in 0..walk.shapes.all.len() {
            let table = walk.table(shape)?;
            walk.tables.push(table);
        }
        let mut found: HashMap<Place, u32> = HashMap::new();
        let mut place_of = vec![0u32; tree.nodes()];
        for v in 0..tree.nodes() {
            let above = (v > 0 && !tree.is_known(v)).then(|| place_of[tree.parent(v)]);
            let place = Place { shape: walk.shapes.of_node[v], above };
            place_of[v] = *found.entry(place).or_insert_with(|| {
                let own = walk.places.len() as u32;
                walk.places.push(place);
                walk.under.push(Vec::new());
                above.into_iter().for_each(|above| walk.under[above as usize].push(own));
                own
            });
        }
        Ok(walk)
    }

    /// Counts multiplications. Errors: too many.
    fn work(&mut self, more: f64) -> Result<()> {
        self.done += more;
        if self.done > MOST {
            return Err(Error::TooLarge {
                what: "the law of losses".into(),
                needed: self.done as u64,
                limit: MOST as u64,
                unit: "multiplications",
            });
        }
        Ok(())
    }

    fn law(&self, shape: u32) -> &L {
        self.laws[self.shapes.all[shape as usize].level].as_ref().expect("a level without noise is known")
    }

    /// The noise of a node of this shape given what is below it, and what was lost.
    fn table(&mut self, shape: usize) -> Result<(Table, f64)> {
        let own = self.shapes.all[shape].clone();
        let below = match &own.under {
            Under::Leaf(_) => None,
            Under::Children(children) => Some(self.sum(children)?),
        };
        if own.known {
            return Ok((nothing(), below.map_or(0.0, |below| below.lost())));
        }
        let table = self.weighted(shape as u32, below.as_ref())?;
        let lost = table.lost();
        Ok((table, lost))
    }

    /// The noise of a node of this shape by its own law and the weight of something else.
    fn weighted(&self, shape: u32, by: Option<&Table>) -> Result<Table> {
        let law = self.law(shape);
        match by {
            None => Table::of_law(law, i64::MIN, i64::MAX),
            Some(by) => by.weighted(law, TRUNCATION),
        }
    }

    /// The sum of two independent parts.
    fn both(&mut self, a: &Table, b: &Table) -> Result<Table> {
        self.work((a.entries().len() * b.entries().len()) as f64)?;
        a.convolve(b)
    }

    /// The sum of some nodes, by shape with how many there are of it.
    fn sum(&mut self, children: &[(u32, u32)]) -> Result<Table> {
        let mut all = nothing();
        for &(child, many) in children {
            if many > 0 && !self.shapes.all[child as usize].known {
                let power = self.power(child, many)?;
                all = self.both(&all, &power)?;
            }
        }
        Ok(all)
    }

    /// The sum of so many nodes of one shape.
    fn power(&mut self, shape: u32, many: u32) -> Result<Rc<Table>> {
        if let Some(power) = self.powers.get(&(shape, many)) {
            return Ok(power.clone());
        }
        let power = match many {
            1 => self.tables[shape as usize].0.clone(),
            _ => {
                let half = self.power(shape, many / 2)?;
                let rest = self.power(shape, many - many / 2)?;
                self.both(&half, &rest)?
            }
        };
        let power = Rc::new(power);
        self.powers.insert((shape, many), power.clone());
        Ok(power)
    }

    /// The sum of a place's children but for one of each of some shapes.
    fn siblings(&mut self, place: u32, but: &[u32]) -> Result<Table> {
        let shape = self.places[place as usize].shape as usize;
        let Under::Children(mut children) = self.shapes.all[shape].under.clone() else {
            unreachable!("a parent has children")
        };
        for shape in but {
            children.iter_mut().find(|(child, _)| child == shape).expect("it is one of them").1 -= 1;
        }
        self.sum(&children)
    }

    /// How many children of a place are one of its children's places.
    fn alike(&self, place: u32, child: u32) -> u32 {
        let shape = self.places[child as usize].shape;
        let Under::Children(children) = &self.shapes.all[self.places[place as usize].shape as usize].under
        else {
            return 0;
        };
        children.iter().find(|(child, _)| *child == shape).map_or(0, |(_, many)| *many)
    }

    fn is_known(&self, place: u32) -> bool {
        self.shapes.all[self.places[place as usize].shape as usize].known
    }

    fn is_leaf(&self, place: u32) -> bool {
        matches!(self.shapes.all[self.places[place as usize].shape as usize].under, Under::Leaf(_))
    }

    /// The table at a place above a leaf, or at the leaf, for a record more in that leaf.
    fn path(&mut self, leaf: u32, to: u32, below: Option<u32>) -> Result<Rc<Path>> {
        if let Some(path) = self.paths.get(&(leaf, to)) {
            return Ok(path.clone());
        }
        let law = *self.law(self.places[to as usize].shape);
        let reach = reach(&law);
        let size = (2 * reach + 1) as usize;
        let before = match below {
            None => None,
            Some(below) => {
                let path = self.paths[&(leaf, below)].clone();
                Some((path, self.siblings(to, &[self.places[below as usize].shape])?))
            }
        };
        let mut rows: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        let mut add = |base: i64, s: i64, weight: f64| {
            for (more, share) in
                spread(self.step, loss(&law, s)).into_iter().filter(|(_, share)| *share > 0.0)
            {
                let row = rows.entry(base + more).or_insert_with(|| vec![0.0; size]);
                row[(s + reach) as usize] += weight * share;
            }
        };
        match before {
            None => (-reach..=reach).for_each(|s| add(0, s, libm::exp(law.log_weight(s)))),
            Some((path, siblings)) => {
                let mut work = 0.0;
                for (&base, row) in &path.rows {
                    let sums = convolved(row, path.reach, &siblings, reach);
                    work += (filled(row).len() * size) as f64;
                    (-reach..=reach).zip(sums).filter(|(_, sum)| *sum > 0.0).for_each(|(s, sum)| {
                        add(base, s, sum * libm::exp(law.log_weight(s)));
                    });
                }
                self.work(work)?;
            }
        }
        // Of no matter what mass: it is divided by its sum in the end.
        let total: f64 = rows.values().flatten().sum();
        rows.values_mut().flatten().for_each(|weight| *weight /= total);
        let path = Rc::new(Path { rows, reach });
        self.paths.insert((leaf, to), path.clone());
        Ok(path)
    }

    /// The leaves below a place, or that place, in its component; of every one the table at the place.
    fn leaves(&mut self, place: u32) -> Result<Vec<(u32, Rc<Path>)>> {
        if self.is_known(place) {
            return Ok(Vec::new());
        }
        if self.is_leaf(place) {
            return Ok(vec![(place, self.path(place, place, None)?)]);
        }
        let mut leaves = Vec::new();
        for child in self.under[place as usize].clone() {
            for (leaf, _) in self.leaves(child)? {
                leaves.push((leaf, self.path(leaf, place, Some(child))?));
            }
        }
        Ok(leaves)
    }

    /// What the tables of a component lost altogether: each is used once, and those around a node lose as much.
    fn lost(&self, mut place: u32) -> f64 {
        while let Some(above) = self.places[place as usize].above {
            place = above;
        }
        2.0 * self.tables[self.places[place as usize].shape as usize].1 + TRUNCATION
    }

    /// The laws of a path from a leaf up to below a place.
    fn laws(&self, leaf: u32, to: Option<u32>) -> Vec<L> {
        let above = |place: &u32| self.places[*place as usize].above;
        let path = std::iter::successors(Some(leaf), above).take_while(|place| Some(*place) != to);
        path.map(|place| *self.law(self.places[place as usize].shape)).collect()
    }

    /// Those of a record added.
    pub(super) fn added(&mut self) -> Result<Vec<Losses>> {
        let mut found = Vec::new();
        for (leaf, path) in self.leaves(0)? {
            let weights = path.rows.iter().map(|(&loss, row)| (loss, row.iter().sum()));
            let weights: Vec<(i64, f64)> = weights.collect();
            found.push(losses(self.step, &weights, self.lost(leaf), &self.laws(leaf, None)));
        }
        Ok(found)
    }

    /// Those of a record moved. Errors: more than 20,000 sorts of them.
    pub(super) fn moved(&mut self) -> Result<Vec<Losses>> {
        let mut found = Vec::new();
        for meet in 0..self.places.len() as u32 {
            let mut below = Vec::new();
            for child in self.under[meet as usize].clone() {
                below.push((child, self.leaves(child)?));
            }
            for (i, (a, of_a)) in below.iter().enumerate() {
                for (b, of_b) in &below[i..] {
                    if a == b && self.alike(meet, *a) < 2 {
                        continue;
                    }
                    let but = [*a, *b].map(|child| self.places[child as usize].shape);
                    let rest = self.beside(meet, &but)?;
                    for (k, from) in of_a.iter().enumerate() {
                        for to in &of_b[if a == b { k } else { 0 }..] {
                            found.push(self.pair(meet, [from, to], &rest)?);
                            check_changes(found.len())?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// A record that moves between two leaves below two children of a place.
    fn pair(&mut self, meet: u32, [from, to]: [&(u32, Rc<Path>); 2], rest: &Table) -> Result<Losses> {
        let mut weights: BTreeMap<i64, f64> = BTreeMap::new();
        let mut work = 0.0;
        for (&one, row) in &from.1.rows {
            // A record less is one more, seen in the mirror.
            let sums = convolved(row, from.1.reach, rest, to.1.reach);
            work += (filled(row).len() * sums.len() + sums.len() * to.1.rows.len()) as f64;
            for (&other, row) in &to.1.rows {
                let filled = filled(row);
                let sum: f64 = row[filled.clone()].iter().zip(&sums[filled]).map(|(x, y)| x * y).sum();
                *weights.entry(one + other).or_default() += sum;
            }
        }
        self.work(work)?;
        let weights: Vec<(i64, f64)> = weights.into_iter().collect();
        let laws = [from.0, to.0].map(|leaf| self.laws(leaf, Some(meet))).concat();
        Ok(losses(self.step, &weights, self.lost(meet), &laws))
    }

    /// The weight of all but some children of a place by the sum of those.
    fn beside(&mut self, place: u32, but: &[u32]) -> Result<Table> {
        let siblings = self.siblings(place, but)?;
        if self.is_known(place) {
            return Ok(siblings);
        }
        let own = self.around(place)?;
        self.both(&siblings, &own)
    }

    /// The weight of an open node's own noise and of all outside its subtree, by that noise.
    fn around(&mut self, place: u32) -> Result<Rc<Table>> {
        if let Some(around) = self.around.get(&place) {
            return Ok(around.clone());
        }
        let Place { shape, above } = self.places[place as usize];
        let outside = above.map(|above| self.beside(above, &[shape])).transpose()?;
        let around = Rc::new(self.weighted(shape, outside.as_ref())?);
        self.around.insert(place, around.clone());
        Ok(around)
    }
}

/// Where a row has weights.
fn filled(row: &[f64]) -> std::ops::Range<usize> {
    let from = row.iter().position(|weight| *weight > 0.0).unwrap_or(row.len());
    let to = row.iter().rposition(|weight| *weight > 0.0).map_or(from, |last| last + 1);
    from..to
}

/// `Σ_t row(t) table(s - t)` for s in `-reach..=reach`; the row is on `-own..=own`.
fn convolved(row: &[f64], own: i64, table: &Table, reach: i64) -> Vec<f64> {
    let mut sums = vec![0.0; (2 * reach + 1) as usize];
    let (first, last) = table.support().into_inner();
    for place in filled(row) {
        let t = place as i64 - own;
        let (from, to) = ((t + first).max(-reach), (t + last).min(reach));
        if from > to {
            continue;
        }
        let weights = &table.entries()[(from - t - first) as usize..=(to - t - first) as usize];
        let sums = &mut sums[(from + reach) as usize..=(to + reach) as usize];
        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += row[place] * weight);
    }
    sums
}
