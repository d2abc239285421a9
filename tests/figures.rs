//! Figures: every kind of them as it is drawn, byte by byte, and those of runs with their data.

mod place;

use congenial::figure::{Axis, Figure, Kind, Look, Mark, Panel, Scale, Series, data, svg, vega_lite};
use place::{Place, TREE, TREE_DATA};

fn figure(kind: Kind, x: Scale, y: Scale, panels: usize, marks: &[Mark]) -> Figure {
    let series = |name: &str, shift: f64| {
        let moved = |mark: &Mark| Mark { x: mark.x * shift, ..*mark };
        Series { name: name.into(), kind, marks: marks.iter().map(moved).collect() }
    };
    let panel = |i: usize| Panel {
        title: if panels > 1 { format!("panel {i}") } else { String::new() },
        series: vec![series("one", 1.0), series("<two> & \"more\"", 2.0)],
    };
    let axis = |label: &str, scale| Axis { label: label.into(), scale };
    Figure {
        name: Figure::named("a name, 1"),
        title: "A <title>".into(),
        about: "What is seen & what not".into(),
        x: axis("x (counts)", x),
        y: axis("y", y),
        panels: (0..panels).map(panel).collect(),
    }
}

fn all() -> Vec<(&'static str, Figure)> {
    let names = || Scale::Names(vec!["exact".into(), "a rather long name of a method".into(), "l2".into()]);
    let dots =
        [Mark::new(0.1, 0.0).within(0.05, 0.2), Mark::new(3.0, 1.0), Mark::new(1.0, 2.0).within(0.0, 2.0)];
    let boxes =
        [0.0, 1.0].map(|y| Mark { whiskers: Some((-4.0, 9.0)), ..Mark::new(1.0, y).within(-1.0, 2.5) });
    let line = [1.0, 10.0, 100.0, 1000.0].map(|t| Mark::new(t, 1.0 / t).within(0.8 / t, 1.2 / t));
    vec![
        ("dots", figure(Kind::Dots, Scale::Log, names(), 2, &dots)),
        ("boxes", figure(Kind::Boxes, Scale::Linear, names(), 1, &boxes)),
        ("line", figure(Kind::Line, Scale::Log, Scale::Log, 1, &line)),
        ("dotted_line", figure(Kind::DottedLine, Scale::Linear, Scale::Linear, 4, &line)),
        ("nothing", figure(Kind::Dots, Scale::Log, Scale::Linear, 1, &[])),
    ]
}

/// Every tag that is opened is closed, in its order, and nothing is left open.
fn is_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices('<') {
        let tag = &text[at + 1..at + text[at..].find('>').expect("a tag ends")];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        match tag {
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{text}"),
            _ if tag.ends_with('/') => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_kind_is_drawn_as_it_was() {
    for (name, figure) in all() {
        let drawn = svg(&figure, Look::default());
        is_well_formed(&drawn);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        insta::assert_snapshot!(format!("svg_{name}"), drawn);
        let (header, rows) = data(&figure);
        let marks: usize =
            figure.panels.iter().flat_map(|panel| &panel.series).map(|series| series.marks.len()).sum();
        assert_eq!((header.len(), rows.len()), (8, marks));
        insta::assert_snapshot!(
            format!("vega_{name}"),
            serde_json::to_string_pretty(&vega_lite(&figure, "a.csv")).unwrap()
        );
    }
}

/// Sizes are those that were asked for, and nothing is drawn outside of them.
#[test]
fn sizes_can_be_set() {
    for (_, figure) in all() {
        for (width, font) in [(300.0, 8.0), (760.0, 12.0), (1600.0, 20.0)] {
            let drawn = svg(&figure, Look { width, font, ..Look::default() });
            is_well_formed(&drawn);
            assert!(
                drawn.contains(&format!("width=\"{width}\"")) && drawn.contains(&format!("font:{font}px"))
            );
            for (at, _) in drawn.match_indices(" x=\"") {
                let x: f64 = drawn[at + 4..].split('"').next().unwrap().parse().unwrap();
                assert!((0.0..=width).contains(&x), "{x} of {width}");
            }
        }
    }
}

/// Three files for each figure of a run, the same bytes again.
#[test]
fn runs_have_figures() {
    let place = Place::new(&[
        ("tree.csv", TREE),
        (
            "config.toml",
            &format!(
                "name = \"f\"\nseed = 1\nreplicates = 20\n{TREE_DATA}[[grid]]\nepsilon = [0.5, 1.0]\nlaw = \"double-geometric\"\n\
                 method = [\"exact\", \"topdown\"]\n"
            ),
        ),
    ]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let read = |folder: &str| {
        place.prints(&["report", "out", "--format", "svg", "-o", folder]);
        let files = std::fs::read_dir(place.path(folder)).unwrap();
        let mut files: Vec<(String, String)> = files
            .map(|file| {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    let files = read("figures");
    assert_eq!(files, read("again"));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let stem = "f-l1-error-double-geometric";
    assert_eq!(names, [format!("{stem}.csv"), format!("{stem}.svg"), format!("{stem}.vl.json")]);
    // Two budgets, two methods, three levels.
    assert_eq!(files[0].1.lines().count(), 1 + 2 * 2 * 3);
    is_well_formed(&files[1].1);
    let page = place.prints(&["report", "out", "--format", "html"]);
    assert!(page.contains(files[1].1.trim_end()));
    place.refuses(&["report", "out", "--format", "svg"], &["--format svg", "--output"]);
}
