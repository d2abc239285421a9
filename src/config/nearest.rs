//! What somebody may have meant.

/// Likeness from which a name may be meant: from 0 to 1 for the same.
const NEAR: f64 = 0.75;

/// `want one of …`, and which of them may have been meant.
pub(crate) fn one_of(given: &str, names: &[&str]) -> String {
    format!("want one of {}{}", names.join(", "), meant(given, names))
}

/// Which name may have been meant; nothing if none is like what was given.
pub(crate) fn meant(given: &str, names: &[&str]) -> String {
    let likeness = |name: &&str| strsim::normalized_damerau_levenshtein(&given.to_lowercase(), name);
    let nearest = names.iter().map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((likeness, name)) if likeness >= NEAR => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_meant() {
        let names = ["exact", "line-gibbs", "double-geometric", "discrete-gaussian"];
        assert_eq!(meant("doublegeometric", &names), "; did you mean `double-geometric`?");
        assert_eq!(meant("Exact", &names), "; did you mean `exact`?");
        assert_eq!(meant("line_gibs", &names), "; did you mean `line-gibbs`?");
        assert_eq!(meant("poisson", &names), "");
        assert_eq!(one_of("x", &["a", "b"]), "want one of a, b");
    }
}
