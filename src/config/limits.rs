//! How large a grid may be.

use super::checker::Checker;
use crate::failure::Result;
use std::ops::Range;

/// Cells of a grid, those that are excluded included.
pub const MOST_CELLS: usize = 100_000;

impl Checker<'_> {
    /// The product of some axes, each with its length and place, after `before` cells of other blocks. Refused, at the
    /// longest axis: more than [`MOST_CELLS`].
    pub(crate) fn product(&self, before: usize, axes: &[(&str, usize, Range<usize>)]) -> Result<usize> {
        let product = axes.iter().try_fold(1usize, |product, (_, length, _)| product.checked_mul(*length));
        let all = product.and_then(|product| product.checked_add(before));
        match (all.filter(|all| *all <= MOST_CELLS), axes.iter().max_by_key(|(_, length, _)| *length)) {
            (None, Some((_, _, longest))) => {
                let long: Vec<String> = axes
                    .iter()
                    .filter(|(_, length, _)| *length > 1)
                    .map(|(key, length, _)| format!("{length} of {key}"))
                    .collect();
                let after =
                    if before > 0 { format!(", after {before} of other blocks") } else { String::new() };
                Err(self.error(
                    format!(
                        "grid: got {}{after}",
                        if long.is_empty() { "1 cell".into() } else { long.join(" × ") }
                    ),
                    longest.clone(),
                    format!("want at most {MOST_CELLS} cells, this is the longest axis"),
                ))
            }
            _ => Ok(all.unwrap_or(before)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::failure::{Failure, Result};
    use crate::study::{Document, read};
    use std::path::Path;

    fn config(data: &str, grid: &str) -> Result<Document> {
        let text = format!(
            "name = \"n\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{data}\n{grid}"
        );
        read(Path::new("c.toml"), &text, &[])
    }

    /// The message, the label, and the text at the place.
    fn refused(refused: Result<Document>) -> (String, String, String) {
        let Err(Failure::Config { message, label, span, source_code }) = refused else {
            panic!("{refused:?}")
        };
        let place = &source_code.inner()[span.offset()..span.offset() + span.len()];
        (message, label, place.to_owned())
    }

    fn list(n: usize) -> String {
        format!("{:?}", (1..=n).collect::<Vec<_>>())
    }

    #[test]
    fn grids_have_an_end() {
        let levels = "levels = [\"a\"]";
        let block = |epsilon: usize, sensitivity: usize| {
            format!(
                "[[grid]]\nepsilon = {}\nsensitivity = {}\nlaw = \"laplace\"\nmethod = \"exact\"\n",
                list(epsilon),
                list(sensitivity)
            )
        };
        assert!(config(levels, &block(1000, 100)).is_ok());
        let (message, label, place) = refused(config(levels, &block(350, 400)));
        assert_eq!(message, "grid: got 350 of epsilon × 400 of sensitivity");
        assert_eq!(label, "want at most 100000 cells, this is the longest axis");
        assert_eq!(place, list(400));
        let (message, ..) = refused(config(levels, &(block(400, 200) + &block(300, 100))));
        assert_eq!(message, "grid: got 300 of epsilon × 100 of sensitivity, after 80000 of other blocks");
        let steps = format!("steps = {}, a = {}", list(10_000), list(5000).replace(", ", "e-9, "));
        let method = format!("{{ kind = \"lattice-metropolis\", {steps} }}");
        let grid = format!("[[grid]]\nepsilon = 1\nlaw = \"l1\"\nmethod = {method}\n");
        let (message, ..) = refused(config("[[invariant]]\nkind = \"total\"", &grid));
        assert_eq!(message, "grid: got 10000 of steps × 5000 of a");
        let worlds = format!(
            "name = \"n\"\nseed = 1\nstudy = \"composition\"\n[worlds]\nworlds = {0}\ncases = 1\nepsilon = {0}",
            list(400)
        );
        let (message, ..) = refused(read(Path::new("c.toml"), &worlds, &[]));
        assert_eq!(message, "grid: got 400 of worlds × 400 of epsilon");
    }

    #[test]
    fn columns_stand_once() {
        let grid = "[[grid]]\nepsilon = 1\nlaw = \"laplace\"\nmethod = \"exact\"\n";
        let (message, _, place) = refused(config("levels = [\"a\", \"b\", \"a\"]", grid));
        assert_eq!((&*message, &*place), ("data.levels: got \"a\" twice", "[\"a\", \"b\", \"a\"]"));
        let (message, ..) = refused(config("entry = [\"a\", \"a\"]\n[[invariant]]\nkind = \"total\"", grid));
        assert_eq!(message, "data.entry: got \"a\" twice");
        let many: Vec<String> = (0..50_000).map(|i| format!("c{i}")).collect();
        assert!(config(&format!("levels = {many:?}"), grid).is_ok());
    }

    #[test]
    fn keys_of_overrides_are_short() {
        let set = format!("{}=1", vec!["a"; 50_000].join("."));
        let refused = read(Path::new("c.toml"), "name = \"n\"", &[set]).unwrap_err().to_string();
        assert!(refused.ends_with("the key has 50000 parts, want at most 16"));
    }
}
