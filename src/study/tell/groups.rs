//! Rows put together for a page.

use std::collections::HashMap;

/// Things of one key together, in the order in which they come.
pub(in crate::study) fn grouped<T>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> String,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in all {
        let place = *places.entry(key(&one)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(one);
    }
    groups
}

/// Numbers in order, each once.
pub(in crate::study) fn distinct(numbers: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

/// Counts of releases in words, and the smallest: `50`, or `50 to 200`.
pub(in crate::study) fn replicates(counts: impl IntoIterator<Item = u64>) -> (u64, String) {
    let limits = |(least, most): (u64, u64), count: u64| (least.min(count), most.max(count));
    let (least, most) = counts.into_iter().fold((u64::MAX, 0), limits);
    (least, if least >= most { most.to_string() } else { format!("{least} to {most}") })
}
