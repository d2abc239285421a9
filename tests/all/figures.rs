//! Figures: every kind of them as it is drawn, byte by byte, and those of runs with their data.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA, partition};
use congenial::figure::{
    Axis, Figure, Kind, Look, Mark, Panel, SERIES, Scale, Series, dark, data, svg, vega_lite,
};
use congenial::study::cells::CellRow;
use congenial::study::release::EntryRow;

fn figure(kind: Kind, x: Scale, y: Scale, panels: usize, marks: &[Mark]) -> Figure {
    let series = |name: &str, shift: f64| {
        let moved = |mark: &Mark| Mark { x: mark.x * shift, ..*mark };
        Series { name: name.into(), kind, marks: marks.iter().map(moved).collect() }
    };
    let panel = |i: usize| Panel {
        title: if panels > 1 { format!("panel {i}") } else { String::new() },
        series: vec![series("one", 1.0), series("<two> & \"more\"", 2.0)],
    };
    Figure {
        name: Figure::named("a name, 1"),
        title: "A <title>".into(),
        about: "What is seen & what not".into(),
        x: Axis::new("x (counts)", x),
        y: Axis::new("y", y),
        panels: (0..panels).map(panel).collect(),
        note: if panels > 1 { "What is left out, & why.".into() } else { String::new() },
    }
}

/// A figure with so many series of one kind.
fn with_series(kind: Kind, series: usize) -> Figure {
    let one = |i: usize| {
        let marks = [1.0, 10.0, 100.0].map(|t| Mark::new(t, (i + 1) as f64 / t).within(0.5 / t, 20.0 / t));
        Series { name: format!("series {i}"), kind, marks: marks.into() }
    };
    Figure { panels: Panel::only((0..series).map(one)), ..figure(kind, Scale::Log, Scale::Log, 1, &[]) }
}

fn all() -> Vec<(&'static str, Figure)> {
    let names = || Scale::Names(vec!["exact".into(), "a rather long name of a method".into(), "l2".into()]);
    let dots =
        [Mark::new(0.1, 0.0).within(0.05, 0.2), Mark::new(3.0, 1.0), Mark::new(1.0, 2.0).within(0.0, 2.0)];
    let boxes =
        [0.0, 1.0].map(|y| Mark { whiskers: Some((-4.0, 9.0)), ..Mark::new(1.0, y).within(-1.0, 2.5) });
    let zero = [Mark::new(0.0, 0.0), Mark::new(0.2, 1.0).within(0.0, 0.4)];
    let long = "hierarchical-mh >= 0 steps=100000, proposal-scale=0.25, start=a rather long name of a method";
    let long = || Scale::Names(vec!["exact".into(), long.into()]);
    let at_places = [1.0, 2.0, 4.0]
        .map(|x| Mark { whiskers: Some((-4.0, 9.0 * x)), ..Mark::new(x, 1.0).within(-1.0, 2.5 * x) });
    let line = [1.0, 10.0, 100.0, 1000.0].map(|t| Mark::new(t, 1.0 / t).within(0.8 / t, 1.2 / t));
    vec![
        ("dots", figure(Kind::Dots, Scale::Log, names(), 2, &dots)),
        ("boxes", figure(Kind::Boxes, Scale::Linear, names(), 1, &boxes)),
        ("line", figure(Kind::Line, Scale::Log, Scale::Log, 1, &line)),
        ("dotted_line", figure(Kind::DottedLine, Scale::Linear, Scale::Linear, 4, &line)),
        ("zero", figure(Kind::Dots, Scale::Log, long(), 9, &zero)),
        ("many_lines", with_series(Kind::Line, 12)),
        ("boxes_at_places", figure(Kind::Boxes, Scale::Linear, Scale::Linear, 4, &at_places)),
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
        for (width, font) in [(300.0, 8.0), (390.0, 12.0), (760.0, 12.0), (1600.0, 20.0)] {
            let drawn = svg(&figure, Look { width, font, titled: true, ..Look::default() });
            is_well_formed(&drawn);
            assert!(
                drawn.contains(&format!("width=\"{width}\""))
                    && drawn.contains(&format!("font-size=\"{font}\""))
            );
            for (at, _) in drawn.match_indices(" x=\"") {
                let x: f64 = drawn[at + 4..].split('"').next().unwrap().parse().unwrap();
                assert!((0.0..=width).contains(&x), "{x} of {width}");
            }
        }
    }
}

/// The tags of a picture, each with its attributes.
fn tags(drawn: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let inner = drawn.split('<').skip(1).filter_map(|part| part.split_once('>').map(|(tag, _)| tag));
    inner
        .filter(|tag| !tag.starts_with('/'))
        .map(|tag| {
            let (name, rest) = tag.trim_end_matches('/').split_once([' ', '\n']).unwrap_or((tag, ""));
            let mut attributes = Vec::new();
            let mut rest = rest.trim();
            while let Some((key, after)) = rest.split_once("=\"") {
                let (value, after) = after.split_once('"').expect("a value ends");
                attributes.push((key.trim(), value));
                rest = after;
            }
            (name, attributes)
        })
        .collect()
}

fn attribute<'a>(attributes: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}

/// Programs without style sheets draw the same: colours are attributes of what has them, and the paper is white.
#[test]
fn colours_are_attributes() {
    let plain = |colour: &str| {
        colour == "none"
            || colour.len() == 7
                && colour.starts_with('#')
                && colour[1..].chars().all(|c| c.is_ascii_hexdigit())
    };
    for (_, figure) in all() {
        let drawn = svg(&figure, Look { titled: true, ..Look::default() });
        for other in ["class=", "style", "var(", "url(", "@media", "currentColor"] {
            assert!(!drawn.contains(other), "{other}: {drawn}");
        }
        let tags = tags(&drawn);
        let (width, height) = (attribute(&tags[0].1, "width"), attribute(&tags[0].1, "height"));
        let paper = &tags.iter().find(|(name, _)| *name == "rect").unwrap().1;
        let of = |name| attribute(paper, name);
        assert_eq!((of("width"), of("height"), of("fill"), of("x")), (width, height, Some("#ffffff"), None));
        for (name, attributes) in &tags {
            let of = |name| attribute(attributes, name);
            match *name {
                "path" | "rect" | "circle" => assert!(
                    of("fill").is_some_and(plain) && of("stroke").is_some_and(plain),
                    "{attributes:?}"
                ),
                "text" => assert!(of("fill").is_some_and(plain), "{attributes:?}"),
                "svg" | "g" | "title" | "desc" => {}
                other => panic!("{other}"),
            }
        }
    }
}

/// The colours of a page's figures where the reader's system is dark: each colour that is drawn has its rule.
#[test]
fn every_colour_has_a_dark_one() {
    let rules = dark();
    for kind in [Kind::Dots, Kind::Line, Kind::Boxes] {
        let drawn = svg(&with_series(kind, SERIES), Look::default());
        for (_, attributes) in tags(&drawn) {
            for (key, value) in attributes
                .into_iter()
                .filter(|(key, value)| ["fill", "stroke"].contains(key) && *value != "none")
            {
                assert!(rules.contains(&format!("[{key}=\"{value}\"] {{ {key}: #")), "{key} {value}");
            }
        }
    }
}

/// What the legend draws before a name, without its place: the shape and fill of the sign, and the dashes of the line.
fn samples(drawn: &str, names: usize) -> Vec<String> {
    let (samples, _) = drawn.split_once("stroke-width=\"1\"").unwrap();
    let (_, samples) = samples.split_once("stroke=\"none\"/>").unwrap();
    let parts: Vec<&str> = samples.split_inclusive("</text>").take(names).collect();
    let plain = |part: &&str| {
        let mut shape = Vec::new();
        for (name, attributes) in tags(part).into_iter().filter(|(name, _)| *name != "text") {
            // A path relative to its first point.
            let path: Vec<f64> = attribute(&attributes, "d")
                .map(|d| d.split(['M', 'L', 'z', ' ']).filter_map(|x| x.parse().ok()).collect())
                .unwrap_or_default();
            let relative: Vec<String> =
                path.iter().enumerate().map(|(i, x)| format!("{:.0}", x - path[i % 2])).collect();
            shape.push(format!(
                "{name} {relative:?} filled {:?} dashes {:?}",
                attribute(&attributes, "fill").map(|fill| fill == "none" || fill == "#ffffff"),
                attribute(&attributes, "stroke-dasharray")
            ));
        }
        shape.join("; ")
    };
    parts.iter().map(plain).collect()
}

/// Without any colour no two series of a figure are drawn alike; nor do two have one colour and one sign.
#[test]
fn no_two_series_are_drawn_alike() {
    for kind in [Kind::Dots, Kind::Line, Kind::DottedLine] {
        for series in [2, 6, 7, SERIES] {
            let samples = samples(&svg(&with_series(kind, series), Look::default()), series);
            assert_eq!(samples.len(), series);
            for (i, sample) in samples.iter().enumerate() {
                assert!(!sample.is_empty() && !samples[..i].contains(sample), "{kind:?} {i}: {sample}");
            }
        }
    }
}

/// A figure with more series than can be told apart is several, which have all of them, on the same axes.
#[test]
fn many_series_are_several_figures() {
    let mut whole = with_series(Kind::DottedLine, 2 * SERIES + 3);
    // Each series lies further to the right than the one before.
    for (i, series) in whole.panels[0].series.iter_mut().enumerate() {
        series.marks.iter_mut().for_each(|mark| *mark = Mark::new(mark.x * (1.0 + i as f64), mark.y));
    }
    let parts = whole.clone().parts();
    assert_eq!(parts.len(), 3);
    let of = |figure: &Figure| figure.panels[0].series.clone();
    assert_eq!(parts.iter().flat_map(of).collect::<Vec<_>>(), of(&whole));
    // Words of the axis x, and where they stand.
    let ticks = |figure: &Figure| {
        let drawn = svg(figure, Look::default());
        let texts = drawn.lines().filter(|line| line.starts_with("<text") && line.contains("\"middle\""));
        let place = |line: &str| {
            let x = attribute(&tags(line)[0].1, "x").unwrap().to_owned();
            (x, line.split(['>', '<']).nth(2).unwrap().to_owned())
        };
        texts.filter(|line| !line.contains("rotate")).map(place).collect::<Vec<_>>()
    };
    for (i, part) in parts.iter().enumerate() {
        assert!(part.panels[0].series.len() <= SERIES);
        assert_eq!(part.name, format!("{}-part-{}", whole.name, i + 1));
        assert!(part.title.ends_with(&format!("part {} of 3", i + 1)) && part.about.contains("part"));
        assert_eq!(ticks(part), ticks(&parts[0]));
    }
    assert_eq!(with_series(Kind::Dots, SERIES).parts().len(), 1);
}

/// Names, titles and notes are there in full, over several lines where they are long.
#[test]
fn no_text_is_cut() {
    let (_, figure) = all().into_iter().find(|(name, _)| *name == "zero").unwrap();
    for width in [300.0, 390.0, 760.0] {
        let drawn = svg(&figure, Look { width, titled: true, ..Look::default() });
        let texts: String = drawn
            .lines()
            .filter(|line| line.starts_with("<text"))
            .map(|line| line.split(['>', '<']).nth(2).unwrap().replace(' ', ""))
            .collect();
        let Scale::Names(names) = &figure.y.scale else { panic!("no names") };
        for text in names.iter().chain([&figure.title, &figure.note, &figure.panels[8].title]) {
            let text = text.replace(' ', "").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            assert!(texts.contains(&text), "{width}: {text} in {texts}");
        }
        assert!(!drawn.contains('…'));
    }
}

/// On a logarithmic axis 0 has a tick, a place and words of its own; elsewhere it has none.
#[test]
fn zero_is_told_on_a_logarithmic_axis() {
    let words = "0, which has no logarithm, stands apart at the edge.";
    for (name, figure) in all() {
        let drawn = svg(&figure, Look::default());
        assert_eq!(drawn.contains(words), name == "zero", "{name}");
        // A sign for each mark, those at 0 too.
        if name == "zero" {
            assert_eq!(drawn.matches("<g><title>").count(), 9 * 2 * 2);
            assert_eq!(drawn.matches(": 0</title>").count(), 9 * 2);
        }
    }
}

/// A name is that of a file everywhere: plain letters, and not too many.
#[test]
fn names_are_those_of_files() {
    assert_eq!(Figure::named("l2 >= 0, epsilon 0.5/é"), "l2-0-epsilon-0-5");
    let long = Figure::named(&"words ".repeat(60));
    assert!(long.len() > 100 && long.len() <= 120 && long.ends_with("words"), "{long}");
}

/// Distances in total variation are at most 1, and so is their axis.
#[test]
fn total_variation_ends_at_one() {
    let marks = [Mark::new(1.0, 8.0).within(6.0, 10.0), Mark::new(10.0, 0.4), Mark::new(100.0, 0.01)];
    let y = Axis::total_variation();
    let drawn = svg(&Figure { y, ..figure(Kind::Line, Scale::Log, Scale::Log, 1, &marks) }, Look::default());
    let frame = tags(&drawn).into_iter().filter(|(name, _)| *name == "rect").nth(1).unwrap().1;
    let top: f64 = attribute(&frame, "y").unwrap().parse().unwrap();
    // The tick 1 is at the upper end, and the lines begin there.
    let one = drawn.lines().find(|line| line.contains("\"end\"") && line.ends_with(">1</text>")).unwrap();
    let y: f64 = attribute(&tags(one)[0].1, "y").unwrap().parse().unwrap();
    assert!((y - 0.35 * 12.0 - top).abs() < 0.11, "{y} {top}");
    let lines = tags(&drawn).into_iter().filter(|(_, a)| {
        attribute(a, "stroke-width") == Some("1.6")
            && attribute(a, "d").is_some_and(|d| d.matches('L').count() == 2)
    });
    let begins: Vec<f64> = lines
        .map(|(_, a)| attribute(&a, "d").unwrap().split([' ', 'L']).nth(1).unwrap().parse().unwrap())
        .collect();
    assert_eq!(begins, [top; 2]);
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
    // The page has the same picture, without the title that is above it anyway.
    let page = place.prints(&["report", "out", "--format", "html"]);
    place.prints(&["report", "out", "--format", "svg", "-o", "untitled", "--untitled"]);
    let untitled = std::fs::read_to_string(place.path(&format!("untitled/{stem}.svg"))).unwrap();
    assert!(page.contains(untitled.trim_end()) && !page.contains(files[1].1.trim_end()));
    assert!(page.contains("prefers-color-scheme: dark"));
    place.refuses(&["report", "out", "--format", "svg"], &["--format svg", "--output"]);
}

/// The figures of a run by name: their data, line by line.
fn data_of(place: &Place, folders: &[&str], name: &str) -> Vec<Vec<String>> {
    place.prints(&[&["report"], folders, &["--format", "svg", "-o", "figures"]].concat());
    let files = std::fs::read_dir(place.path("figures")).unwrap().map(|file| file.unwrap().path());
    let is_it = |path: &std::path::PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        file.contains(name) && file.ends_with(".csv")
    };
    let path = files.into_iter().find(is_it).unwrap_or_else(|| panic!("no figure {name}"));
    // Its name is words, no hash of a cell.
    let words = path.file_stem().unwrap().to_string_lossy().into_owned();
    let is_hash = |part: &str| part.len() >= 8 && part.chars().all(|c| c.is_ascii_hexdigit());
    assert!(!words.split('-').any(is_hash), "{words}");
    let mut csv = csv::Reader::from_path(path).unwrap();
    csv.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// Moves per step against an option, with a published point where the options are the same; traces of the draws that were kept.
#[test]
fn chains_have_figures() {
    let published = "source,name,table,figure,value,method,options\n\
                     P,here,chains,acceptance,0.5,mis,\"steps=6000,proposal-epsilon=0.6\"\n\
                     P,elsewhere,chains,acceptance,0.4,mis,\"steps=7000,proposal-epsilon=0.6\"\n";
    let config = format!(
        "name = \"f\"\nseed = 1\nreplicates = 3\nkeep-draws = true\n{TABLE_DATA}{}{NONNEGATIVE}[[grid]]\nepsilon = \
            0.5\nlaw = \"double-geometric\"\n\
         records = 600\nmethod = {{ kind = \"mis\", steps = 6000, proposal-epsilon = [0.7, 0.5, 0.6] }}\n[report]\npublished = \"p.csv\"\n",
        partition(&["row"])
    );
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config), ("p.csv", published)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let moves = data_of(&place, &["out"], "moves-proposal-epsilon");
    let points: Vec<[&str; 2]> = moves.iter().map(|row| [row[1].as_str(), row[2].as_str()]).collect();
    let ours = points[0][0];
    assert_eq!(points, [[ours, "0.5"], [ours, "0.6"], [ours, "0.7"], ["P, published", "0.6"]]);
    assert_eq!(moves[3][3], "0.5");
    // At most 500 draws of each of two entries, from the first to the last.
    let trace = data_of(&place, &["out"], "trace");
    assert_eq!(trace.len(), 1000);
    assert_eq!((trace[0][2].as_str(), trace[499][2].as_str()), ("1", "600"));
    assert_ne!(trace[0][0], trace[999][0]);
    assert!(trace.iter().all(|row| row[3].parse::<i64>().is_ok()));
}

/// Steps until a bound, chain by chain; time and memory of runs of three sizes.
#[test]
fn steps_and_sizes_have_figures() {
    let config = format!(
        "name = \"m\"\nseed = 1\nstudy = \"meeting\"\nreplicates = 60\n{TABLE_DATA}{MARGINS}[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\n\
         method = [\"line-gibbs\", \"lattice-metropolis\"]\nlag = 100\nmax-steps = 100_000\n"
    );
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let steps = data_of(&place, &["out"], "steps");
    assert_eq!(steps.len(), 2 * 3);
    // Fewer steps for a weaker bound; Gibbs needs fewer than Metropolis.
    let t = |i: usize| steps[i][2].parse::<f64>().unwrap();
    assert!(t(0) <= t(2) && t(2) <= t(4) && t(0) < t(1), "{steps:?}");
    let tree = format!(
        "name = \"s\"\nseed = 1\nreplicates = 5\n{TREE_DATA}[[grid]]\nepsilon = 0.5\nlaw = \"laplace\"\nmethod = \"l2\"\n"
    );
    place.write("tree.toml", &tree);
    for rows in [2, 4, 6] {
        let some: Vec<&str> = TREE.lines().take(1 + rows).collect();
        place.write("tree.csv", &(some.join("\n") + "\n"));
        place.prints(&["run", "tree.toml", "--out", &format!("of-{rows}"), "--threads", "1"]);
    }
    let folders = ["of-2", "of-4", "of-6"];
    let memory = data_of(&place, &folders, "memory-by-size");
    // With their parents.
    let counts: Vec<&str> = memory.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(counts, ["4", "7", "10"]);
    assert!(memory.iter().all(|row| row[3].parse::<f64>().unwrap() > 1.0));
    assert_eq!(data_of(&place, &folders, "time-by-size").len(), 3);
    let page = place.prints(&["report", "of-2", "--format", "html"]);
    assert!(page.contains("each count is the sum of those below it"), "{page}");
    // Machine and hashes stand behind everything else.
    let place_of = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
    assert!(place_of("<dt>machine</dt>") > place_of("id=\"provenance\""), "{page}");
}

/// Of very many boxes none has a title of its own: three paths draw all of a series, and one its dots.
#[test]
fn many_boxes_are_drawn_in_few_paths() {
    let box_at = |x: usize| {
        let x = x as f64;
        Mark { whiskers: Some((-9.0 - x, 9.0)), ..Mark::new(x, 0.0).within(-1.0, 2.0) }
    };
    let mut drawn = figure(Kind::Boxes, Scale::Linear, Scale::Linear, 1, &[]);
    drawn.panels[0].series[0].marks = (0..390).map(box_at).collect();
    drawn.panels[0].series[1].kind = Kind::Dots;
    drawn.panels[0].series[1].marks = (0..10).map(|x| Mark::new(x as f64, 1.0)).collect();
    let titles = |figure: &Figure| svg(figure, Look::default()).matches("<title>").count();
    assert_eq!(titles(&drawn), 400);
    drawn.panels[0].series[1].marks.push(Mark::new(10.0, 1.0));
    let crowded = svg(&drawn, Look::default());
    is_well_formed(&crowded);
    assert_eq!(titles(&drawn), 0);
    let paths = crowded.lines().filter(|line| line.starts_with("<path"));
    let moves: Vec<usize> = paths.map(|line| line.matches('M').count()).filter(|moves| *moves > 2).collect();
    assert_eq!(moves, [390, 390, 390, 11]);
}

/// Box plots of all entries are those of their table, at names or at ranks; traces are of the entries that are asked for.
#[test]
fn entries_have_boxes_and_traces() {
    let config = |report: &str| {
        format!(
            "name = \"f\"\nseed = 1\nreplicates = 30\nkeep-draws = true\n{TABLE_DATA}{MARGINS}[[grid]]\nepsilon = 0.5\nlaw = [\"l1\", \"l2\"]\n\
             method = [\"exact\", {{ kind = \"lattice-metropolis\", steps = 400 }}]\nrecords = 100\n[report]\n{report}\n"
        )
    };
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config("boxes = []"))]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows: Vec<(CellRow, EntryRow)> = place.with_cells("out", |row: &EntryRow| row.cell);
    let numbers = |row: &EntryRow| [row.q1, row.q3, row.whisker_low, row.whisker_high].map(|x| x.to_string());
    let named = data_of(&place, &["out"], "-boxes");
    assert_eq!(named.len(), rows.len());
    for (cell, row) in &rows {
        let is_it = |one: &&Vec<String>| {
            one[0] == cell.law.name()
                && one[1].starts_with(cell.method.name())
                && one[3] == format!("{} ({})", row.name, row.count)
        };
        let one = named.iter().find(is_it).unwrap_or_else(|| panic!("{row:?} in {named:?}"));
        assert_eq!((&one[2], &one[4..]), (&row.median.to_string(), &numbers(row)[..]));
    }
    // By rank in the rows of the table, with one release each.
    place.write("config.toml", &config("boxes = [\"row\"]\ntraces = [\"b/y\", \"a/x\"]"));
    place.prints(&["run", "config.toml", "--out", "by-row"]);
    let ranked = data_of(&place, &["by-row"], "-boxes");
    assert_eq!(ranked.len(), 2 * rows.len());
    for (cell, row) in &rows {
        let panel = format!("{}, {}, {}", cell.law.name(), &row.name[..1], cell.method.name());
        let alike =
            rows.iter().filter(|(other, one)| other.cell == cell.cell && one.name[..1] == row.name[..1]);
        let rank = 1 + alike.filter(|(_, one)| (one.count, one.entry) < (row.count, row.entry)).count();
        let of = |series: &str| {
            let is_it = |one: &&Vec<String>| {
                one[0].starts_with(&panel) && one[1] == series && one[2] == rank.to_string()
            };
            ranked.iter().find(is_it).unwrap_or_else(|| panic!("{panel} {rank} in {ranked:?}"))
        };
        assert_eq!(
            (&of("all releases")[3], &of("all releases")[4..]),
            (&row.median.to_string(), &numbers(row)[..])
        );
        assert_eq!(of("one of them")[3], row.first.to_string());
    }
    let trace = data_of(&place, &["by-row"], "trace");
    let panels: Vec<&str> = trace.iter().map(|row| row[0].split(',').next().unwrap()).collect();
    assert_eq!((panels[0], panels[trace.len() - 1], trace.len()), ("b/y", "a/x", 200));
}
