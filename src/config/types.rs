//! Values of a type that is not wanted, in plain words.

/// What a reader says of such a value in words of Rust (`invalid type: string "x", expected u64`), as `got "x", want an integer >= 0`;
/// `None`: it says something else.
pub(super) fn plain(message: &str) -> Option<String> {
    let said = ["invalid type: ", "invalid value: "].iter().find_map(|kind| message.strip_prefix(kind))?;
    let (found, wanted) = said.rsplit_once(", expected ")?;
    Some(format!("got {}, want {}", got(found), want(wanted)))
}

fn got(found: &str) -> String {
    let (found, is_large) =
        match ["i128", "u128"].iter().find_map(|of| found.strip_suffix(of)?.strip_suffix(" as ")) {
            Some(found) => (found, true),
            None => (found, false),
        };
    let value = ["string ", "boolean ", "integer ", "floating point "]
        .iter()
        .find_map(|kind| found.strip_prefix(kind));
    let words = match (value, found) {
        (Some(value), _) => value.trim_matches('`'),
        (None, "sequence") => "a list",
        (None, "map") => "a table",
        (None, other) => other,
    };
    words.to_owned() + if is_large { ", which has more than 64 bits" } else { "" }
}

fn want(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "an integer >= 0",
        "i32" | "i64" => "an integer",
        "f64" => "a number",
        "a sequence" => "a list",
        "a string" => "a text",
        "a boolean" => "true or false",
        "a map" => "a table",
        name if name.starts_with("struct ") => "a table",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn types_are_told_in_plain_words() {
        for (said, told) in [
            (
                "invalid type: string \"a, expected u64\", expected u64",
                "got \"a, expected u64\", want an integer >= 0",
            ),
            ("invalid type: floating point `1.5`, expected i64", "got 1.5, want an integer"),
            ("invalid value: integer `-1`, expected u64", "got -1, want an integer >= 0"),
            ("invalid type: sequence, expected a string", "got a list, want a text"),
            ("invalid type: map, expected a boolean", "got a table, want true or false"),
            (
                "invalid type: integer `99` as i128, expected a value",
                "got 99, which has more than 64 bits, want a value",
            ),
            ("invalid type: boolean `true`, expected struct Report", "got true, want a table"),
        ] {
            assert_eq!(plain(said).as_deref(), Some(told));
        }
        assert_eq!(plain("missing field `seed`"), None);
    }
}
