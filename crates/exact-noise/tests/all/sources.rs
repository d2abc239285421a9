//! What the sources of the crate may not have.

use std::fs;
use std::path::Path;

/// The code of every file: without comments, texts and the tests at its end.
fn code() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
        let code: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        files.push((path.display().to_string(), code.join("\n")));
    }
    assert!(files.len() > 10);
    files
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// No floating-point type, no number with a point, no literal with a suffix or an exponent.
#[test]
fn no_floating_point() {
    for (file, text) in code() {
        for word in words(&text) {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            let is_float = word.ends_with("f32")
                || word.ends_with("f64")
                || is_number && !word.starts_with("0x") && word.contains('e') && !word.contains("size");
            assert!(!is_float, "{file}: {word}");
        }
        for line in text.lines().filter(|line| !line.contains('"')) {
            let point = line
                .as_bytes()
                .windows(3)
                .find(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit());
            assert!(point.is_none(), "{file}: {line}");
        }
    }
}

#[test]
fn small_enough_to_be_read() {
    let lines: usize = code().iter().map(|(_, text)| text.lines().count()).sum();
    println!("{lines} lines of code");
    assert!(lines <= 1500, "{lines} lines");
}

/// Differences and quotients of large integers, which can panic, stand in one file; nothing is unsafe; nobody else's lints are off.
#[test]
fn what_could_panic_is_at_home() {
    for (file, text) in code() {
        for wrong in ["unsafe {", "unsafe fn", "#[allow", "#![allow", "#[expect"] {
            assert!(!text.contains(wrong), "{file}: {wrong}");
        }
        let is_home = file.ends_with("big.rs");
        for line in text.lines() {
            let divides = line.contains(" / ") && !line.contains("/ 2")
                || line.contains(" % ")
                || line.contains(" -= ");
            assert!(is_home || !divides || line.contains('"'), "{file}: {line}");
        }
    }
}
