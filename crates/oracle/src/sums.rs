//! The law of a weighted sum of leaves of a tree in which every node weighs its sum, by joining children one after the other in a
//! table of both sums: noise under equations, and posteriors.

use congenial_core::invariant::Hierarchy;
use std::collections::BTreeMap;

/// What a tree of integers weighs: the product over its nodes.
pub struct Weighed<'a> {
    /// The tree.
    pub tree: &'a Hierarchy,
    /// By leaf, in the order of the tree: its least and its largest value.
    pub ranges: &'a [(i64, i64)],
    /// What a node weighs by its sum.
    pub weight: &'a dyn Fn(usize, i64) -> f64,
}

/// By the sum of a node's leaves and their weighted sum.
type Both = BTreeMap<(i64, i64), f64>;

impl Weighed<'_> {
    /// The logarithm of all that the tree weighs, and the law of `Σ c_i x_i`.
    ///
    /// - `weights`: the c, by leaf. With those of the leaves below a node that is the law of the node.
    /// - `most`: products after which it gives up.
    ///
    /// Errors: why there is none, in words.
    pub fn law(&self, weights: &[i8], most: u64) -> Result<(f64, BTreeMap<i64, f64>), String> {
        let (mut log, mut left) = (0.0, most);
        let root = self.up(0, weights, &mut log, &mut left)?;
        let mut law: BTreeMap<i64, f64> = BTreeMap::new();
        root.into_iter().for_each(|((_, weighted), p)| *law.entry(weighted).or_default() += p);
        Ok((log, law))
    }

    /// The table of a node, with a mass of 1; the logarithm of what it was goes to `log`.
    fn up(&self, v: usize, weights: &[i8], log: &mut f64, left: &mut u64) -> Result<Both, String> {
        let mut table = Both::new();
        if self.tree.is_leaf(v) {
            let leaf = self.tree.leaf_number(v as u32) - 1;
            let (low, high) = self.ranges[leaf];
            table.extend((low..=high).map(|x| ((x, i64::from(weights[leaf]) * x), 1.0)));
        } else {
            table.insert((0, 0), 1.0);
            for child in self.tree.children(v) {
                let other = self.up(child, weights, log, left)?;
                let products = table.len() as u64 * other.len() as u64;
                *left = left.checked_sub(products).ok_or("its tables are too large to be joined")?;
                let mut joined = Both::new();
                for (a, p) in &table {
                    for (b, q) in &other {
                        *joined.entry((a.0 + b.0, a.1 + b.1)).or_default() += p * q;
                    }
                }
                table = joined;
            }
        }
        table.iter_mut().for_each(|(sums, p)| *p *= (self.weight)(v, sums.0));
        let mass: f64 = table.values().sum();
        if mass.is_nan() || mass <= 0.0 {
            return Err("nothing is left, or too little for its digits".into());
        }
        *log += libm::log(mass);
        // What is left out is below any digit of what is compared.
        table.retain(|_, p| *p > 1e-30 * mass);
        table.values_mut().for_each(|p| *p /= mass);
        Ok(table)
    }
}
