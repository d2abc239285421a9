//! `congenial init` on files as offices, R, pandas and databases write them: for each the right answer is stated, and what
//! it writes runs. The numbers of `tests/data/init` are made up.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is right for a file.
enum Right {
    /// A hierarchy: its levels, its count, and what else the config says.
    Tree(&'static [&'static str], &'static str, &'static [&'static str]),
    /// A table: what names an entry, its count, what is kept, and what else the config says.
    Table(&'static [&'static str], &'static str, &'static str, &'static [&'static str]),
    /// An error that says all of this.
    Refused(&'static [&'static str]),
}

use Right::{Refused, Table, Tree};

const TOWNS: &[&str] = &["region", "town"];

/// By file and further arguments, what is right.
const CASES: &[(&str, &[&str], Right)] = &[
    ("tree.csv", &[], Tree(TOWNS, "n", &[])),
    ("tree-crlf.csv", &[], Tree(TOWNS, "n", &[])),
    ("tree-bom.csv", &[], Tree(TOWNS, "n", &[])),
    (
        "tree.csv",
        &["--known", "region", "--loss", "0.25,3"],
        Tree(TOWNS, "n", &["known = [\"total\", \"region\"]", "paid = [0.25, 3.0]"]),
    ),
    ("tree.csv", &["--levels", "town"], Tree(&["town"], "n", &["left out: \"region\" (not asked for)"])),
    ("tree.csv", &["--known", "zone"], Refused(&["--known zone", "want `total` or levels: region, town"])),
    ("tree.csv", &["--loss", "0"], Refused(&["--loss 0", "want numbers > 0"])),
    ("tree.csv", &["--count", "people"], Refused(&["no column `people`"])),
    ("semicolons.csv", &[], Tree(TOWNS, "n", &["seen: columns stand between `;`"])),
    ("excel-sep.csv", &[], Tree(TOWNS, "n", &["seen: columns stand between `;`"])),
    ("tabs.tsv", &[], Tree(TOWNS, "n", &["seen: columns stand between `tab`"])),
    ("utf16.csv", &[], Tree(TOWNS, "n", &["between `tab`", "the text is UTF-16"])),
    (
        "latin1.csv",
        &[],
        Tree(&["Kanton", "Gemeinde"], "Einwohner", &["the text is Windows-1252", "`Zürich` on line 2"]),
    ),
    ("cp850.csv", &[], Refused(&["line 2", "`94`", "are not UTF-8", "want UTF-8"])),
    ("floats.csv", &[], Tree(TOWNS, "n", &[])),
    (
        "decimal-commas.csv",
        &[],
        Tree(TOWNS, "n", &["`n` = `12,0` on line 2 is read as 12", "left out: \"km2\" (measures something)"]),
    ),
    ("quoted-thousands.csv", &[], Tree(TOWNS, "population", &["`1,381,069` on line 2 is read as 1381069"])),
    (
        "point-thousands.csv",
        &[],
        Tree(&["Land", "Kreis"], "Einwohner", &["`1.381.069` on line 2 is read as 1381069"]),
    ),
    ("open-thousands.csv", &[], Refused(&["line 2: `Einwohner` = `1.381`", "may be 1381", "write `1381`"])),
    (
        "suppressed.csv",
        &[],
        Refused(&["line 3: `count` = `<5`", "hidden or missing", "write a number in its place"]),
    ),
    ("blanks.csv", &[], Refused(&["line 3: `count` = ``", "write 0 where nobody is"])),
    ("wrong-count.csv", &[], Refused(&["line 4: `n` = `oops`, want an integer >= 0"])),
    ("footnote.csv", &[], Refused(&["line 4: it has 1 field, line 1 has 3", "without titles and notes"])),
    ("unclosed-quote.csv", &[], Refused(&["line 3: a quote opens here"])),
    ("two-separators.csv", &[], Refused(&["`,` and `;` both divide"])),
    ("scientific.csv", &[], Tree(TOWNS, "n", &[])),
    ("excel-rounded.csv", &[], Refused(&["line 2: `n` = `1.38E+06`", "write all digits"])),
    ("r-write.csv", &[], Tree(&["state", "county"], "n", &["left out: \"\" (numbers the rows)"])),
    ("pandas.csv", &[], Tree(TOWNS, "households", &["left out: \"\" (numbers the rows)"])),
    (
        "fips.csv",
        &[],
        Tree(
            &["state", "county"],
            "population",
            &[
                "left out: \"fips\" (a code that repeats \"county\" and \"state\")",
                "left out: \"area\" (measures something)",
            ],
        ),
    ),
    (
        "codes.csv",
        &[],
        Tree(
            &["state", "county"],
            "pop",
            &["\"state_code\" (a code that repeats \"state\")", "\"county_code\""],
        ),
    ),
    (
        "measures.csv",
        &[],
        Tree(
            &["region", "district"],
            "population",
            &["left out: \"deaths\", \"births\" (a further measure)", "may be counts as well"],
        ),
    ),
    ("measures.csv", &["--count", "births"], Tree(&["region", "district"], "births", &["\"population\""])),
    (
        "households.csv",
        &[],
        Tree(
            &["state", "county"],
            "population",
            &["left out: \"households\" (a further measure)", "may be counts as well"],
        ),
    ),
    (
        "wide-years.csv",
        &[],
        Refused(&["`2019`, `2020`, `2021` may all be counts", "--count", "one row for each group"]),
    ),
    ("wide-years.csv", &["--count", "2021"], Tree(&["district", "street"], "2021", &["\"2019\""])),
    ("wide-sexes.csv", &[], Refused(&["`male`, `female` may all be counts"])),
    (
        "one-measure.csv",
        &[],
        Tree(&["district", "street"], "dogs", &["doubt: \"dogs\" is taken for the counts"]),
    ),
    (
        "microdata.csv",
        &[],
        Refused(&[
            "no column of integers >= 0 that counts",
            "congenial aggregate microdata.csv --by region,municipality,age,sex --out counts.csv",
        ]),
    ),
    (
        "microdata-id.csv",
        &[],
        Refused(&["congenial aggregate microdata-id.csv --by region,municipality,age,sex --out counts.csv"]),
    ),
    (
        "microdata-weight.csv",
        &[],
        Refused(&[
            "congenial aggregate microdata-weight.csv --by REGION,PUMA,AGEG,SEX --weight PWGTP --out counts.csv",
        ]),
    ),
    (
        "repeated.csv",
        &[],
        Refused(&[
            "line 5: names the same group as line 2",
            "congenial aggregate repeated.csv --by region,sex --sum count --count count --out counts.csv",
        ]),
    ),
    ("crossed.csv", &[], Tree(&["region", "municipality", "sex", "age"], "count", &[])),
    (
        "crossed-gaps.csv",
        &[],
        Tree(&["region", "municipality", "sex", "age"], "count", &["doubt: 4 of 30 groups have no row"]),
    ),
    (
        "types.csv",
        &[],
        Tree(
            &["region", "municipality", "sex"],
            "count",
            &["left out: \"type\" (follows from `municipality`)"],
        ),
    ),
    ("survey.csv", &[], Table(&["sex", "age"], "n", "margins", &["change = \"smallest\"", "\"exact\""])),
    ("survey-large.csv", &[], Table(&["row", "column"], "count", "margins", &["line-gibbs"])),
    ("three-way.csv", &[], Table(&["sex", "smokes", "age"], "n", "total", &["change = \"moved\""])),
    ("list.csv", &[], Tree(&["school"], "children", &[])),
    (
        "grand-total.csv",
        &[],
        Tree(&["state", "county"], "n", &["doubt: \"Total\" in `state` on line 7 may be a total of others"]),
    ),
    (
        "subtotals.csv",
        &[],
        Tree(
            &["Land", "Kreis"],
            "Anzahl",
            &["doubt: \"Insgesamt\" in `Kreis` on line 4 may be a total of others"],
        ),
    ),
    (
        "hidden-total.csv",
        &[],
        Tree(
            &["state", "county"],
            "n",
            &["doubt: \"A\" in `county` on line 5 is the sum of those beside it"],
        ),
    ),
    (
        "both-sexes.csv",
        &[],
        Table(
            &["age", "sex"],
            "n",
            "margins",
            &["doubt: \"Both sexes\" in `sex` on line 4 may be a total of others"],
        ),
    ),
    (
        "same-names.csv",
        &[],
        Tree(TOWNS, "n", &["doubt: \"ash\" in `town` on line 3 and \"Ash\" are two groups: the same?"]),
    ),
    ("ragged.csv", &[], Refused(&["line 5: `county` is blank", "write the name of the level above"])),
    ("ragged-repeated.csv", &[], Tree(&["state", "county", "tract"], "n", &[])),
    (
        "dates.csv",
        &[],
        Tree(
            &["state", "county", "date"],
            "cases",
            &["\"fips\" (a code that repeats \"county\" and \"state\")", "\"deaths\""],
        ),
    ),
    (
        "dates-unknown.csv",
        &[],
        Tree(&["state", "county", "date"], "cases", &["left out: \"fips\" (a code that repeats \"county\")"]),
    ),
    ("hostile.csv", &[], Tree(&["a \"b\" = [1]", "c\u{1b}[31md"], "n", &[])),
    ("trailing.csv", &[], Tree(TOWNS, "n", &["(nothing in it)"])),
    (
        "words.csv",
        &[],
        Refused(&["no column of integers >= 0", "congenial aggregate words.csv --by a,b --out counts.csv"]),
    ),
    ("one-row.csv", &[], Tree(&["region"], "n", &["change = \"added\""])),
    ("pyarrow-double.parquet", &[], Tree(TOWNS, "n", &["left out: \"area\" (measures something)"])),
    (
        "pyarrow-types.parquet",
        &[],
        Tree(TOWNS, "n", &["left out: \"day\"", "\"tags\" (is nested", "\"raw\" (has the type BYTE_ARRAY"]),
    ),
    (
        "polars-boolean.parquet",
        &[],
        Tree(&["region", "town"], "n", &["left out: \"urban\" (follows from `town`)"]),
    ),
    ("fastparquet.parquet", &[], Tree(TOWNS, "n", &[])),
    ("duckdb-sum.parquet", &[], Tree(TOWNS, "n", &[])),
    ("duckdb-decimal.parquet", &[], Tree(TOWNS, "n", &[])),
    ("pandas-missing.parquet", &[], Refused(&["row 4: `n` = ``", "want an integer >= 0"])),
];

/// Lines of a config at most.
const LINES: usize = 30;

fn data(place: &Place, file: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/init").join(file);
    fs::copy(from, place.path(file)).unwrap();
}

/// What a key of the table `data` holds, as texts.
fn texts(config: &str, key: &str) -> Vec<String> {
    let table: toml::Table = config.parse().unwrap();
    match table["data"].get(key) {
        Some(toml::Value::Array(values)) => {
            values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
        }
        Some(value) => vec![value.as_str().unwrap().to_owned()],
        None => Vec::new(),
    }
}

/// Every file has its right answer, and every config that comes out is short, safe to show, and runs.
#[test]
fn files_of_offices_have_their_right_answer() {
    let mut wrong = Vec::new();
    for (file, more, right) in CASES {
        let place = Place::new(&[]);
        data(&place, file);
        let output = place.command(&[&["init", file][..], more].concat()).output().unwrap();
        let [config, said] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // The terminal breaks lines of messages.
        let said = said.replace("\n  │ ", " ").replace("\n", " ");
        let mut miss = |what: String| wrong.push(format!("{file} {more:?}: {what}"));
        let contains = |text: &str, wanted: &[&'static str]| -> Vec<&'static str> {
            wanted.iter().copied().filter(|wanted| !text.contains(wanted)).collect()
        };
        let (key, names, count, wanted) = match right {
            Refused(wanted) => {
                if output.status.code() != Some(2) || !contains(&said, wanted).is_empty() {
                    miss(format!("want {wanted:?}: {said}{config}"));
                }
                continue;
            }
            Tree(levels, count, wanted) => ("levels", levels, count, wanted),
            Table(entry, count, kind, wanted) => {
                if !config.contains(&format!("kind = \"{kind}\"")) {
                    miss(format!("want {kind}: {config}"));
                }
                ("entry", entry, count, wanted)
            }
        };
        if !output.status.success() {
            miss(said);
            continue;
        }
        if texts(&config, key) != **names
            || texts(&config, "count") != [*count]
            || !contains(&config, wanted).is_empty()
        {
            miss(format!("want {names:?} {count} {wanted:?}:\n{config}"));
            continue;
        }
        if config.lines().count() > LINES || config.contains('\u{1b}') {
            miss(format!("{} lines: {config}", config.lines().count()));
        }
        place.write("mine.toml", &config);
        let run =
            place.command(&["run", "mine.toml", "--set", "replicates=3", "--out", "out"]).output().unwrap();
        if !run.status.success() {
            miss(String::from_utf8_lossy(&run.stderr).into_owned());
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

/// Every file of the corpus has an answer, and is small.
#[test]
fn the_corpus_is_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/init");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files: Vec<(String, u64)> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .filter(|(name, _)| name != "README.md")
        .collect();
    let answered: BTreeSet<&str> = CASES.iter().map(|(file, ..)| *file).collect();
    assert_eq!(files.iter().map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>(), answered);
    assert!(files.len() >= 30 && files.iter().all(|(_, bytes)| *bytes < 3000));
}

/// The command that `init` gives for records tabulates them: every group of the product, its records counted by hand here.
#[test]
fn records_are_tabulated_as_init_says() {
    let place = Place::new(&[]);
    data(&place, "microdata.csv");
    let by = "region,municipality,age,sex";
    place.prints(&["aggregate", "microdata.csv", "--by", by, "--out", "counts.csv"]);
    let read = |file: &str| {
        let text = fs::read_to_string(place.path(file)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (records, counts) = (read("microdata.csv"), read("counts.csv"));
    assert_eq!(counts[0], format!("{by},count"));
    let part = |record: &String, places: &[usize]| {
        let fields: Vec<&str> = record.split(',').collect();
        places.iter().map(|&place| fields[place].to_owned()).collect::<Vec<_>>().join(",")
    };
    let of =
        |places: &[usize]| records[1..].iter().map(|record| part(record, places)).collect::<BTreeSet<_>>();
    // Municipalities stand in their region alone.
    let mut wanted = Vec::new();
    for place in of(&[0, 1]) {
        for age in of(&[2]) {
            for sex in of(&[3]) {
                let group = format!("{place},{age},{sex}");
                let n = records[1..].iter().filter(|record| **record == group).count();
                wanted.push(format!("{group},{n}"));
            }
        }
    }
    assert_eq!(counts[1..], wanted);
    let config = place.prints(&["init", "counts.csv"]);
    assert_eq!(texts(&config, "levels"), ["region", "municipality", "sex", "age"]);
    // Weights and sums add up, and may be written as numbers are.
    place.write("weighted.csv", "sex;age;w\nf;9;1,0\nf;10;2,0\nm;9;30,0\nf;9;400,0\n");
    for option in ["--weight", "--sum"] {
        let out = format!("{}.csv", option.trim_start_matches('-'));
        place.prints(&[
            "aggregate",
            "weighted.csv",
            "--by",
            "age,sex",
            option,
            "w",
            "--count",
            "n",
            "--out",
            &out,
        ]);
        assert_eq!(read(&out), ["age,sex,n", "9,f,401", "9,m,30", "10,f,2", "10,m,0"]);
    }
    // A list has the groups, in its order.
    place.write("list.csv", "sex,name,age\nm,b,10\nf,a,9\nm,c,9\nf,d,10\nf,e,11\n");
    place.prints(&[
        "aggregate",
        "weighted.csv",
        "--by",
        "age,sex",
        "--list",
        "list.csv",
        "--out",
        "listed.csv",
    ]);
    assert_eq!(
        read("listed.csv"),
        ["sex,name,age,count", "m,b,10,0", "f,a,9,2", "m,c,9,1", "f,d,10,1", "f,e,11,0"]
    );
    let refuse = |more: &[&str], wanted: &[&str]| {
        place.refuses(&[&["aggregate", "weighted.csv", "--out", "x.csv"], more].concat(), wanted);
        assert!(!place.path("x.csv").exists());
    };
    place.write("short.csv", "sex,age\nf,9\nf,10\n");
    refuse(
        &["--by", "age,sex", "--list", "short.csv"],
        &["`9/m` is a group of the records that short.csv does not list"],
    );
    place.write("twice.csv", "sex,age\nf,9\nf,9\n");
    refuse(
        &["--by", "age,sex", "--list", "twice.csv"],
        &["twice.csv", "line 3", "`9/f` is duplicated (first on line 2)"],
    );
    refuse(&["--by", "age,age"], &["`age` is named twice"]);
    refuse(&["--by", "age,zone"], &["no column `zone`"]);
    refuse(&["--by", "age,sex", "--count", "sex"], &["`sex` names groups"]);
    refuse(&["--by", "age", "--sum", "sex"], &["line 2: `sex` = `f`, want an integer >= 0"]);
    place.write("weighted.csv", "sex,age,w\nf,9,1.5\nm,,2\n");
    refuse(&["--by", "sex", "--weight", "w"], &["line 2: `w` = `1.5`", "records are counted whole"]);
    refuse(&["--by", "sex,age"], &["line 3: `age` is blank"]);
}

/// A config that is written into another folder finds its table from there; one that exists stays.
#[test]
fn configs_are_written_where_they_are_wanted() {
    let place = Place::new(&[("town.csv", "region,town,n\na,x,3\na,y,0\nb,z,12\n")]);
    std::fs::create_dir(place.path("configs")).unwrap();
    let written = ["init", "town.csv", "--known", "region", "-o", "configs/town.toml"];
    assert_eq!(place.prints(&written), "");
    let text = std::fs::read_to_string(place.path("configs/town.toml")).unwrap();
    assert!(text.contains("known = [\"total\", \"region\"]"), "{text}");
    place.prints(&["run", "configs/town.toml", "--out", "out", "--set", "replicates=5"]);
    place.refuses(&written, &["configs/town.toml", "it exists"]);
    assert_eq!(std::fs::read_to_string(place.path("configs/town.toml")).unwrap(), text);
    place.prints(&["init", "town.csv", "-o", "here.toml"]);
    assert!(std::fs::read_to_string(place.path("here.toml")).unwrap().contains("table = \"town.csv\""));
}

/// Columns of which few records say that one follows from the other are doubted; those of which it does not follow are
/// crossed, however few pairs stand in a record. Places in places are as they stand, whatever their names.
#[test]
fn what_nests_by_chance_is_doubted() {
    let rows: String = (0..60).map(|i| format!("w{},c{}\n", i % 20, i * i % 7)).collect();
    let few: String = (0..9).map(|i| format!("w{i},c{}\n", i % 3)).collect();
    // Each state has two of the five names.
    let places: String =
        (0..40).map(|i| format!("s{},county {},{}\n", i % 4, i % 4 + i / 4 % 2, i / 8 % 2)).collect();
    let place = Place::new(&[
        ("sparse.csv", &format!("ward,class\n{rows}")),
        ("few.csv", &format!("ward,class\n{few}")),
        ("places.csv", &format!("state,county,sex\n{places}")),
    ]);
    let says = |table: &str, by: &str| {
        let out = format!("counted-{table}");
        let output = place.command(&["aggregate", table, "--by", by, "--out", &out]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // 20 wards and 4 classes, of which a ward has several.
    let sparse = says("sparse.csv", "ward,class");
    assert!(sparse.contains("80 groups") && sparse.contains("ward x class"), "{sparse}");
    let few = says("few.csv", "class,ward");
    assert!(
        few.contains("9 groups") && few.contains("ward in class") && few.contains("few records say so"),
        "{few}"
    );
    let places = says("places.csv", "state,county,sex");
    assert!(places.contains("county in state x sex") && !places.contains("few records"), "{places}");
}
