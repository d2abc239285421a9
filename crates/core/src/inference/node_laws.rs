//! The laws of the noise of all single nodes under a tree's equations.

use super::shapes::{Shapes, Under};
use super::sum_law::{Passes, Spectrum, SumLaw, power, too_large, window};
use crate::error::Result;
use crate::fourier::even_transform;
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use std::collections::HashMap;

/// The law of every node's noise, for integer noise given that every parent is the sum of its children and known nodes have none:
/// that of [`SumLaw`] for the leaves below the node, of all nodes at once.
///
/// An upward pass gives the table `m_v(s)` of every subtree, a downward pass what is outside of it: with the parent p of v,
/// `d_v(s) = Σ_t w_p(t) d_p(t) (Π m of the siblings)(t - s)`, and `P(z_v = s) ∝ m_v(s) d_v(s)`. Products over siblings are those
/// over the children before and behind. Nodes of equal shape with equal surroundings share their law.
///
/// No tail of a node's law is heavier than that of its own noise, since the rest of the equations is an even and unimodal weight. So
/// the window leaves out less than 1e-17 of every sum.
///
/// The cost is `O(surroundings · side ln side)`.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::NodeLaws;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::DoubleGeometric;
///
/// // A state with two counties of two towns each.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let laws = NodeLaws::on_tree(&tree, &[DoubleGeometric::new(2.0)?; 3])?;
/// // The county and the town hold less noise than they were given: the equations tell of it.
/// assert!(laws.of(1).variance() < laws.of(3).variance());
/// assert!(laws.of(3).variance() < 8.0);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NodeLaws {
    laws: Vec<SumLaw>,
    /// By node, the place of its law.
    of_node: Vec<u32>,
}

/// Entries of the tables of all shapes together: 1 GiB.
const MOST: f64 = (1u64 << 27) as f64;

impl NodeLaws {
    /// The laws on a tree. `laws`: one per level.
    ///
    /// Errors: another number of laws; scales so large that the tables of all shapes have more than 2^27
    /// entries ([`Error::TooLarge`](crate::Error::TooLarge)).
    pub fn on_tree<L: IntegerLaw>(tree: &Hierarchy, laws: &[L]) -> Result<Self> {
        tree.check_one_per_level("laws", laws.len())?;
        let shapes = Shapes::of(tree, &vec![[0, 0]; tree.leaves().len()]);
        let side = window(&shapes, laws, true).max(8.0);
        let entries = side * shapes.all.len() as f64;
        if entries > MOST {
            return Err(too_large("the laws of nodes", entries, MOST, "entries"));
        }
        let passes = Passes::new(&shapes, laws, side as usize);
        let root = shapes.of_node[0];
        let mut down = Down { shapes: &shapes, passes: &passes, places: Vec::new(), known: HashMap::new() };
        down.visit(root, &vec![1.0; side as usize]);
        let places = down.places;
        let mut place = vec![0u32; tree.nodes()];
        for v in 0..tree.nodes() {
            let under = &places[place[v] as usize].under;
            for child in tree.children(v) {
                let found = under.binary_search_by_key(&shapes.of_node[child], |(shape, _)| *shape);
                place[child] = under[found.expect("every child was visited")].1;
            }
        }
        Ok(Self { laws: places.into_iter().map(|place| place.law).collect(), of_node: place })
    }

    /// The law of a node's noise, for a node of the tree.
    pub fn of(&self, node: usize) -> &SumLaw {
        &self.laws[self.of_node[node] as usize]
    }

    /// The laws that differ.
    pub fn each(&self) -> impl Iterator<Item = &SumLaw> {
        self.laws.iter()
    }

    /// The place of a node's law among those of [`NodeLaws::each`].
    pub fn place(&self, node: usize) -> usize {
        self.of_node[node] as usize
    }
}

/// A shape with its surroundings.
struct Place {
    law: SumLaw,
    /// By shape of a child, in ascending order: its place.
    under: Vec<(u32, u32)>,
}

/// The downward pass.
struct Down<'a> {
    shapes: &'a Shapes,
    passes: &'a Passes<'a>,
    places: Vec<Place>,
    /// Places of known nodes by shape: what is below one does not depend on what is outside.
    known: HashMap<u32, u32>,
}

impl Down<'_> {
    /// A node of this shape, and all below it. `outside`: the weight of what is outside by the node's noise.
    fn visit(&mut self, place: u32, outside: &[f64]) -> u32 {
        let (own, shape) = (self.places.len() as u32, &self.shapes.all[place as usize]);
        let side = outside.len();
        if shape.known {
            if let Some(&known) = self.known.get(&place) {
                return known;
            }
            self.known.insert(place, own);
        }
        // Of what is known.
        self.places.push(Place { law: SumLaw::of_table(&[1.0]), under: Vec::new() });
        let weights = self.passes.weights(shape.level);
        let children = match &shape.under {
            Under::Leaf(_) => {
                if !shape.known {
                    let table: Vec<f64> = (0..side / 2).map(|s| weights[s] * outside[s]).collect();
                    self.places[own as usize].law = SumLaw::of_table(&table);
                }
                return own;
            }
            Under::Children(children) => children,
        };
        let (before, behind) = self.products(children);
        let own_side = match shape.known {
            true => vec![1.0; side],
            false => {
                let weighed: Vec<f64> = weights.iter().zip(outside).map(|(w, d)| w * d).collect();
                let sums = even_transform(&before[children.len()], side, 1);
                let table: Vec<f64> = (0..side / 2).map(|s| weighed[s] * sums[s].max(0.0)).collect();
                self.places[own as usize].law = SumLaw::of_table(&table);
                even_transform(&weighed, side, 1)
            }
        };
        for (number, &(child, alike)) in children.iter().enumerate() {
            let mut rest = own_side.clone();
            let siblings = before[number].iter().zip(&behind[number + 1]);
            rest.iter_mut().zip(siblings).for_each(|(rest, (before, behind))| *rest *= before * behind);
            self.times(&mut rest, child, alike - 1);
            let mut table = even_transform(&rest, side, 1);
            // It is largest at 0; rounding leaves less than nothing in the tails.
            let most = table[0];
            table.iter_mut().for_each(|value| *value = (*value / most).max(0.0));
            let visited = self.visit(child, &table);
            self.places[own as usize].under.push((child, visited));
        }
        own
    }

    /// Products of the children's transforms: of those before each, and of those from each on.
    fn products(&self, children: &[(u32, u32)]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let one = vec![1.0; self.passes.side()];
        let (mut before, mut behind) = (vec![one.clone()], vec![one]);
        for &(child, number) in children {
            let mut next = before[before.len() - 1].clone();
            self.times(&mut next, child, number);
            before.push(next);
        }
        for &(child, number) in children.iter().rev() {
            let mut next = behind[behind.len() - 1].clone();
            self.times(&mut next, child, number);
            behind.push(next);
        }
        behind.reverse();
        (before, behind)
    }

    /// Times the transform of so many children of a shape.
    fn times(&self, product: &mut [f64], child: u32, number: u32) {
        match self.passes.unweighted(child as usize) {
            // The mass of what is known is 1.
            Spectrum::Constant(_) => {}
            Spectrum::Values(values) => {
                product.iter_mut().zip(values).for_each(|(all, &value)| *all *= power(value, number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::SumLaws;
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::rng::below;
    use crate::testing::test_stream;

    /// Against the law of the sum of the leaves below every node, which goes through frequencies, on random trees with known
    /// nodes and without.
    #[test]
    fn laws_of_nodes_are_those_of_sums() {
        fn check<L: IntegerLaw>(law: fn(f64) -> L) {
            let mut rng = test_stream(131);
            let mut compared = 0;
            for number in 0..30 {
                let mut parents = vec![0];
                let mut level = vec![0];
                for below_root in 0..2 {
                    let mut next = Vec::new();
                    for &parent in &level {
                        for _ in 0..1 + below(&mut rng, 3 + below_root) {
                            next.push(parents.len());
                            parents.push(parent);
                        }
                    }
                    level = next;
                }
                let mut tree = Hierarchy::from_parents(&parents).unwrap();
                if number % 2 == 1 {
                    let known: Vec<bool> = (0..tree.nodes()).map(|_| below(&mut rng, 4) == 0).collect();
                    match tree.clone().with_known(known) {
                        Ok(with) => tree = with,
                        Err(_) => continue,
                    }
                }
                let laws: Vec<L> =
                    (0..tree.levels()).map(|_| law(0.4 + 0.1 * below(&mut rng, 40) as f64)).collect();
                let all = NodeLaws::on_tree(&tree, &laws).unwrap();
                let mut sums = SumLaws::new(&tree, &laws, 1e9).unwrap();
                for v in 0..tree.nodes() {
                    let is_below = |leaf: &u32| {
                        let mut node = *leaf as usize;
                        while node > v {
                            node = tree.parent(node);
                        }
                        i8::from(node == v)
                    };
                    let weights: Vec<i8> = tree.leaves().iter().map(is_below).collect();
                    let want = sums.of(&weights).unwrap();
                    for t in 0..400 {
                        let (got, want) = (all.of(v).p(t), want.p(t));
                        assert!((got - want).abs() < 1e-12, "{parents:?} {v} {t}: {got} {want}");
                        compared += 1;
                    }
                }
            }
            assert!(compared > 50_000);
        }
        check(|scale| DoubleGeometric::new(scale).unwrap());
        check(|scale| DiscreteGaussian::new(scale).unwrap());
    }

    /// Nodes that nothing tells apart share a law.
    #[test]
    fn equal_surroundings_share_a_law() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 2, 2, 3]).unwrap();
        let laws = NodeLaws::on_tree(&tree, &[DoubleGeometric::new(1.0).unwrap(); 3]).unwrap();
        // The root, two kinds of counties, the towns of each.
        assert_eq!(laws.each().count(), 5);
        assert_eq!(laws.place(4), laws.place(7));
        assert_ne!(laws.place(4), laws.place(8));
    }

    /// Two leaves whose sum is known: `P(z) ∝ e^(-2|z|/λ)`, at wide scales, too. Scales that no table holds are refused.
    #[test]
    fn wide_laws_are_whole_or_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap().with_known(vec![true, false, false]).unwrap();
        let laws = |lambda: f64| NodeLaws::on_tree(&tree, &[DoubleGeometric::new(lambda).unwrap(); 2]);
        for lambda in [50.0, 800.0, 1500.0, 6000.0] {
            let ratio = libm::exp(-2.0 / lambda);
            let want = 2.0 * ratio / ((1.0 - ratio) * (1.0 - ratio));
            let law = laws(lambda).unwrap().of(1).clone();
            assert!((law.variance() / want - 1.0).abs() < 1e-9, "{lambda}: {} {want}", law.variance());
            // P(|z| > t) = 2 ratio^(t + 1) / (1 + ratio).
            let t = lambda as i64;
            let beyond = 2.0 * libm::pow(ratio, (t + 1) as f64) / (1.0 + ratio);
            assert!((law.beyond(t) - beyond).abs() < 1e-10, "{lambda}: {} {beyond}", law.beyond(t));
        }
        for lambda in [30_000.0, 1e6, 1e12] {
            assert!(matches!(laws(lambda), Err(crate::Error::TooLarge { .. })), "{lambda}");
        }
    }
}
