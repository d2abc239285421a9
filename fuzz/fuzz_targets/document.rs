//! Whole configs with their tables, built from the bytes: they parse, so that the checks behind the parser are met.
#![no_main]

mod common;

use arbitrary::{Result, Unstructured};
use congenial::catalogue::{Kind, LawKind, MethodKind, Place};
use libfuzzer_sys::fuzz_target;
use std::fmt::Write;

fuzz_target!(|data: &[u8]| {
    let mut source = Unstructured::new(data);
    if let Ok((text, table)) = document(&mut source) {
        common::plan(&text, &[], &table);
    }
});

/// Columns of the table; the first four may name cells.
const COLUMNS: [&str; 8] = ["a", "b", "c", "id", "low", "high", "in", "count"];

fn document(u: &mut Unstructured) -> Result<(String, String)> {
    let mut table = COLUMNS.join(",") + "\n";
    // Complete two-way tables are as likely as any other.
    let (width, cells) = (u.int_in_range(1..=4)?, u.int_in_range(1..=16)?);
    let regular: bool = u.arbitrary()?;
    for cell in 0..cells {
        let (a, b) = if regular {
            (cell / width, cell % width)
        } else {
            (u.int_in_range(0..=3)?, u.int_in_range(0..=3)?)
        };
        let c = u.int_in_range(0..=2)?;
        let bound = |u: &mut Unstructured| -> Result<String> {
            Ok(if u.ratio(1, 4)? { number(u)?.to_string() } else { String::new() })
        };
        let (low, high, inside) = (bound(u)?, bound(u)?, u8::from(u.arbitrary::<bool>()?));
        let count = if u.ratio(1, 16)? { number(u)? } else { u.int_in_range(0..=50)? };
        writeln!(table, "{a},{b},{c},{cell},{low},{high},{inside},{count}").expect("memory");
    }
    let mut text = format!("name = \"n\"\nseed = {}\n", number(u)?.unsigned_abs() >> 1);
    let study = *u.choose(&["release", "release", "meeting", "privacy"])?;
    writeln!(text, "study = \"{study}\"").expect("memory");
    if study != "privacy" {
        text += "replicates = 3\n";
    }
    if study == "release" {
        writeln!(text, "keep-draws = {}", u.arbitrary::<bool>()?).expect("memory");
    }
    text += "[data]\ntable = \"t.csv\"\ncount = \"count\"\n";
    let tree = u.ratio(1, 3)?;
    if tree {
        writeln!(text, "levels = {:?}", columns(u)?).expect("memory");
    } else if u.arbitrary()? {
        writeln!(text, "entry = {:?}", columns(u)?).expect("memory");
    }
    if u.ratio(1, 8)? {
        writeln!(text, "where = {{ {} = [\"0\", \"1\"] }}", u.choose(&COLUMNS)?).expect("memory");
    }
    if !tree {
        for _ in 0..u.int_in_range(1..=4)? {
            writeln!(text, "[[invariant]]\n{}", invariant(u, cells)?).expect("memory");
        }
    }
    for _ in 0..u.int_in_range(1..=3)? {
        writeln!(text, "[[grid]]\n{}", grid(u, study, tree)?).expect("memory");
    }
    for _ in 0..u.int_in_range(0..=2)? {
        text += "[[exclude]]\n";
        if u.arbitrary()? {
            writeln!(text, "law = {:?}", law(u, false)?.name()).expect("memory");
        }
        if u.arbitrary()? {
            writeln!(text, "method = {:?}", u.choose(MethodKind::ALL)?.name()).expect("memory");
        }
        if u.arbitrary()? {
            writeln!(text, "nonnegative = {}\nepsilon = {}", u.arbitrary::<bool>()?, reals(u)?)
                .expect("memory");
        }
    }
    Ok((text, table))
}

/// Small as a rule, else where arithmetic ends.
fn number(u: &mut Unstructured) -> Result<i64> {
    Ok(match u.int_in_range(0..=7)? {
        0 => {
            *u.choose(&[i64::MIN, i64::MIN + 1, i64::MAX, 1 << 31, 1 << 32, 1 << 53, (1 << 53) + 1, 1 << 62])?
        }
        1 => u.arbitrary()?,
        _ => u.int_in_range(-3..=9)?,
    })
}

fn real(u: &mut Unstructured) -> Result<String> {
    let x = match u.int_in_range(0..=7)? {
        0 => *u.choose(&[0.0, -0.0, 5e-324, 1e-300, 1e300, f64::MAX, f64::INFINITY, f64::NAN, 1e-9])?,
        1 => u.arbitrary()?,
        _ => f64::from(u.int_in_range(1..=40u8)?) / 20.0,
    };
    Ok(format!("{x:?}").replace("NaN", "nan"))
}

fn reals(u: &mut Unstructured) -> Result<String> {
    let reals = (0..u.int_in_range(1..=3)?).map(|_| real(u)).collect::<Result<Vec<_>>>()?;
    Ok(format!("[{}]", reals.join(", ")))
}

fn numbers(u: &mut Unstructured, n: usize) -> Result<Vec<i64>> {
    (0..n).map(|_| number(u)).collect()
}

fn columns(u: &mut Unstructured) -> Result<Vec<&'static str>> {
    let usual = [&["a", "b"][..], &["a", "id"], &["id"], &["a", "b", "id"], &["b"]];
    if u.ratio(7, 8)? {
        return Ok(u.choose(&usual)?.to_vec());
    }
    (0..u.int_in_range(0..=3)?).map(|_| u.choose(&COLUMNS).copied()).collect()
}

fn invariant(u: &mut Unstructured, cells: usize) -> Result<String> {
    let width = if u.ratio(1, 16)? { u.int_in_range(0..=17)? } else { cells };
    let rows = |u: &mut Unstructured| -> Result<(Vec<Vec<i64>>, Vec<i64>)> {
        let rows = (0..u.int_in_range(0..=4)?).map(|_| numbers(u, width)).collect::<Result<Vec<_>>>()?;
        let n = if u.ratio(1, 16)? { u.int_in_range(0..=5)? } else { rows.len() };
        Ok((rows, numbers(u, n)?))
    };
    let bound = |u: &mut Unstructured, column: &str| -> Result<String> {
        Ok(if u.arbitrary()? { format!("{column:?}") } else { number(u)?.to_string() })
    };
    Ok(match u.int_in_range(0..=10)? {
        0 => "kind = \"total\"".into(),
        1 => format!("kind = \"partition\"\nby = {:?}", columns(u)?),
        2 => format!(
            "kind = \"margins\"\nrows = {:?}\ncolumns = {:?}",
            u.choose(&COLUMNS)?,
            u.choose(&COLUMNS)?
        ),
        3 => {
            let set = |u: &mut Unstructured| {
                let n = u.int_in_range(0..=4)?;
                if u.ratio(1, 16)? { numbers(u, n) } else { (0..n).map(|_| u.int_in_range(1..=16)).collect() }
            };
            let sets = (0..u.int_in_range(0..=4)?).map(|_| set(u)).collect::<Result<Vec<_>>>()?;
            format!("kind = \"subsets\"\nsets = {sets:?}")
        }
        4 => "kind = \"subsets\"\ncolumns = [\"in\"]".into(),
        5 => format!("kind = \"hierarchy\"\nlevels = {:?}", columns(u)?),
        6 => format!("kind = \"matrix\"\nrows = {:?}", rows(u)?.0),
        7 => {
            let (rows, values) = rows(u)?;
            format!("kind = \"matrix\"\nrows = {rows:?}\nvalues = {values:?}")
        }
        8 => {
            let (rows, values) = rows(u)?;
            format!("kind = \"at-least\"\nrows = {rows:?}\nvalues = {values:?}")
        }
        9 => "kind = \"nonnegative\"".into(),
        _ => {
            let mut text = "kind = \"bounds\"\n".to_owned();
            if u.arbitrary()? {
                writeln!(text, "lower = {}", bound(u, "low")?).expect("memory");
            }
            if u.arbitrary()? {
                writeln!(text, "upper = {}", bound(u, "high")?).expect("memory");
            }
            text
        }
    })
}

/// A method that fits the study and what is released as a rule, with one of its options now and then.
fn method(u: &mut Unstructured, study: &str, tree: bool) -> Result<String> {
    let place = if tree { Place::Tree } else { Place::Table { inequalities: false } };
    let fits = |kind: &&MethodKind| match study {
        "privacy" => **kind == MethodKind::EXACT,
        "meeting" => kind.is_chain(),
        _ => kind.somewhere(place).is_ok(),
    };
    let fitting: Vec<&MethodKind> = MethodKind::ALL.iter().filter(fits).collect();
    let kind = if u.ratio(1, 16)? { u.choose(MethodKind::ALL)? } else { u.choose(&fitting)? };
    if kind.facts().options.is_empty() || u.ratio(2, 3)? {
        return Ok(format!("{:?}", kind.name()));
    }
    let option = u.choose(kind.facts().options)?;
    let values = match option.kind {
        Kind::Flag => "[true, false]".into(),
        Kind::Count(_) => "[1, 5]".into(),
        Kind::Number { .. } => reals(u)?,
        Kind::Own => unreachable!("no option of a method of ours"),
        Kind::Name(names) => format!("{names:?}"),
        Kind::NameOrEntries(names) => format!("[{:?}, [1, 2], [{}, 3]]", names[0], number(u)?),
    };
    Ok(format!("{{ kind = {:?}, {} = {values} }}", kind.name(), option.key))
}

fn law(u: &mut Unstructured, tree: bool) -> Result<LawKind> {
    let fits = |law: &&LawKind| !tree || law.on_hierarchies();
    let fitting: Vec<&LawKind> = LawKind::ALL.iter().filter(fits).collect();
    if u.ratio(1, 8)? { u.choose(LawKind::ALL).copied() } else { u.choose(&fitting).map(|law| **law) }
}

fn grid(u: &mut Unstructured, study: &str, tree: bool) -> Result<String> {
    let law = law(u, tree)?.name();
    let mut text = format!("epsilon = {}\nlaw = {law:?}\n", reals(u)?);
    let method = method(u, study, tree)?;
    writeln!(text, "method = {method}").expect("memory");
    if law.contains("gaussian") != u.ratio(1, 16)? {
        writeln!(text, "delta = {}", reals(u)?).expect("memory");
    }
    if u.ratio(1, 4)? {
        writeln!(text, "sensitivity = {}", reals(u)?).expect("memory");
    }
    if tree && u.arbitrary()? {
        writeln!(text, "split = [{}]", u.choose(&["\"each\", \"even\"", "[0.5, 0.5]", "[0.2, 0.3, 0.5]"])?)
            .expect("memory");
    }
    if (study == "meeting") != u.ratio(1, 16)? {
        writeln!(text, "lag = {:?}\nmax-steps = {}", numbers(u, 2)?, number(u)?).expect("memory");
        if u.arbitrary()? {
            writeln!(text, "marginal-chains = {}\nmarginal-steps = {}", number(u)?, number(u)?)
                .expect("memory");
        }
    }
    if u.ratio(1, 8)? {
        writeln!(text, "records = {}\nreplicates = {}", number(u)?, number(u)?).expect("memory");
    }
    Ok(text)
}
