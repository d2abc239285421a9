//! FORMAT.md says of every table what its declaration says. `CONGENIAL_FORMAT=write cargo test --test all format` writes it anew.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use congenial::study::STUDIES;

#[test]
fn the_format_page_has_the_declared_tables() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");
    let page = std::fs::read_to_string(place).unwrap();
    let version = format!("schema version {}.", congenial::store::SCHEMA_VERSION);
    assert!(page.contains(&version), "FORMAT.md does not say: {version}");
    let (begin, end) = ("<!-- tables -->\n", "<!-- end of tables -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (tables, after) = rest.split_once(end).unwrap();
    let mut seen = Vec::new();
    let mut declared = String::new();
    for table in STUDIES.iter().flat_map(|study| study.tables()) {
        if !seen.contains(&table.file) {
            seen.push(table.file);
            declared += &table.markdown();
        }
    }
    if std::env::var("CONGENIAL_FORMAT").is_ok_and(|how| how == "write") {
        std::fs::write(place, format!("{before}{begin}{declared}{end}{after}")).unwrap();
    } else {
        assert!(
            tables == declared,
            "FORMAT.md is not what is declared: CONGENIAL_FORMAT=write writes it anew"
        );
    }
}
