//! The text of a config, with `--set` from its lines `#set key=value`, on a fixed table.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;

/// Has the columns of the configs that the corpus begins with.
const TABLE: &str = include_str!("../seeds/table.csv");

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sets: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("#set ")).map(str::to_owned).collect();
    common::plan(text, &sets, TABLE);
});
