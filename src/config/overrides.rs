//! `--set key=value`: changes in the text of a config, before it is read.

use crate::failure::{Failure, Result};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// Parts of a dotted key: more than any key of a config has.
const MOST_PARTS: usize = 16;

/// Applies `key=value` overrides. Keys are dotted paths; `grid.epsilon` means every `[[grid]]` block and
/// `grid.0.epsilon` the first. Values are TOML; what does not parse as TOML is taken as text. Without a value the key is taken out, with
/// all that it has.
pub fn apply(text: &str, sets: &[String]) -> Result<String> {
    if sets.is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = match text.parse::<DocumentMut>() {
        Ok(document) => document,
        // A text that is not TOML is reported by the reader, with its place; integers from 2^63 on are TOML for that reader alone.
        Err(_) if toml::from_str::<serde_json::Value>(text).is_err() => return Ok(text.to_owned()),
        Err(e) => {
            return Err(Failure::Usage(format!("--set: the config cannot be changed: {}", e.message())));
        }
    };
    for set in sets {
        let usage = |why: &str| Failure::Usage(format!("--set {set}: {why}"));
        let (key, value) = set.split_once('=').ok_or_else(|| usage("want key=value"))?;
        let path: Vec<&str> = key.trim().split('.').collect();
        if path.iter().any(|part| part.is_empty()) {
            return Err(usage("the key has an empty part"));
        }
        if path.len() > MOST_PARTS {
            return Err(usage(&format!("the key has {} parts, want at most {MOST_PARTS}", path.len())));
        }
        let value = value.trim();
        if value.is_empty() {
            match taken_out(document.as_table_mut(), &path) {
                true => continue,
                false => return Err(usage("the config does not have it, so that it cannot be taken out")),
            }
        }
        if value.parse::<i64>().is_err() && value.parse::<u64>().is_ok() {
            return Err(usage("want an integer below 2^63 (larger ones can stand in the config itself)"));
        }
        let value = value.parse::<Value>().unwrap_or_else(|_| Value::from(value));
        set_in(document.as_table_mut(), &path, &value).map_err(|why| usage(&why))?;
    }
    Ok(document.to_string())
}

/// Takes a key out, of several blocks out of each. Whether any had it.
fn taken_out(table: &mut dyn TableLike, path: &[&str]) -> bool {
    let (name, rest) = (path[0], &path[1..]);
    if rest.is_empty() {
        return table.remove(name).is_some();
    }
    match table.get_mut(name) {
        Some(Item::ArrayOfTables(blocks)) => match rest[0].parse::<usize>() {
            Ok(index) if rest.len() > 1 => {
                blocks.get_mut(index).is_some_and(|block| taken_out(block, &rest[1..]))
            }
            _ => blocks.iter_mut().fold(false, |any, block| taken_out(block, rest) | any),
        },
        Some(item) => item.as_table_like_mut().is_some_and(|inner| taken_out(inner, rest)),
        None => false,
    }
}

fn set_in(table: &mut Table, path: &[&str], value: &Value) -> std::result::Result<(), String> {
    let (name, rest) = (path[0], &path[1..]);
    if rest.is_empty() {
        if matches!(table.get(name), Some(Item::Table(_) | Item::ArrayOfTables(_))) {
            return Err(format!("`{name}` is a table, want one of its keys"));
        }
        table.insert(name, Item::Value(value.clone()));
        return Ok(());
    }
    match table.entry(name).or_insert_with(|| Item::Table(Table::new())) {
        Item::Table(inner) => set_in(inner, rest, value),
        Item::ArrayOfTables(blocks) => match rest[0].parse::<usize>() {
            Ok(index) if rest.len() > 1 => {
                let count = blocks.len();
                let block = blocks.get_mut(index);
                let block = block.ok_or_else(|| format!("`{name}` has {count} blocks, counted from 0"))?;
                set_in(block, &rest[1..], value)
            }
            _ => blocks.iter_mut().try_for_each(|block| set_in(block, rest, value)),
        },
        Item::Value(Value::InlineTable(inner)) if rest.len() == 1 => {
            inner.insert(rest[0], value.clone());
            Ok(())
        }
        _ => Err(format!("`{name}` is not a table")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"n\"\n[data]\nwhere = { a = \"1\" }\n[report]\npublished = \"p\"\n[report.beside]\nnote = \"b\"\n\
                        [[grid]]\nepsilon = 1\nlag = 2\n[[grid]]\nepsilon = 2\n";

    #[test]
    fn keys_without_a_value_are_taken_out() {
        let apply = |set: &str| apply(TEXT, &[set.to_owned()]);
        for (set, gone) in [
            ("report.beside=", "[report.beside]\nnote = \"b\"\n"),
            ("report.beside.note = ", "note = \"b\"\n"),
            ("report.published=", "published = \"p\"\n"),
            ("grid.lag=", "lag = 2\n"),
            ("grid.0.lag=", "lag = 2\n"),
            ("data.where=", "where = { a = \"1\" }\n"),
        ] {
            assert_eq!(apply(set).unwrap(), TEXT.replace(gone, ""), "{set}");
        }
        assert_eq!(apply("grid=").unwrap(), &TEXT[..TEXT.find("[[grid]]").unwrap()]);
        assert_eq!(apply("data.where.a=").unwrap(), TEXT.replace("{ a = \"1\" }", "{}"));
        for set in
            ["nothing=", "report.certify=", "grid.1.lag=", "grid.7.lag=", "name.first=", "data.where.b="]
        {
            let refused = apply(set).unwrap_err().to_string();
            assert!(refused.contains("cannot be taken out") && refused.contains(set), "{refused}");
        }
    }
}
