//! FORMAT.md says of every table what its declaration says. `CONGENIAL_FORMAT=write cargo test --test all format` writes it anew.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use congenial::infer::{IntervalRow, ModelRow, RatioRow};
use congenial::study::STUDIES;
use congenial::table::Declared;

#[test]
fn the_format_page_has_the_declared_tables() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");
    let page = std::fs::read_to_string(place).unwrap();
    let version = format!("schema version {}.", congenial::store::SCHEMA_VERSION);
    assert!(page.contains(&version), "FORMAT.md does not say: {version}");
    let mut seen = Vec::new();
    let mut declared = String::new();
    for table in STUDIES.iter().flat_map(|study| study.tables()) {
        if !seen.contains(&table.file) {
            seen.push(table.file);
            declared += &table.markdown();
        }
    }
    let intervals = Declared::of::<IntervalRow>().markdown();
    let model = Declared::of::<ModelRow>().markdown();
    let wanted = with(&with(&page, "tables", &declared), "intervals", &intervals);
    let wanted = with(&wanted, "model", &model);
    let wanted = with(&wanted, "ratios", &Declared::of::<RatioRow>().markdown());
    if std::env::var("CONGENIAL_FORMAT").is_ok_and(|how| how == "write") {
        std::fs::write(place, wanted).unwrap();
    } else {
        assert!(page == wanted, "FORMAT.md is not what is declared: CONGENIAL_FORMAT=write writes it anew");
    }
}

/// The page with a part between two marks.
fn with(page: &str, mark: &str, part: &str) -> String {
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{part}{end}{after}")
}
