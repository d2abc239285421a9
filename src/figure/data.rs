//! The data of a figure, and a specification of Vega-Lite that draws it from them.

use super::axis::Range;
use super::{Figure, Kind, Mark, Scale};
use serde_json::{Value, json};

/// The columns of the data.
const HEADER: [&str; 8] = ["panel", "series", "x", "y", "low", "high", "whisker_low", "whisker_high"];

/// The data of a figure, mark by mark: columns and rows.
pub fn data(figure: &Figure) -> (Vec<String>, Vec<Vec<String>>) {
    let y = |mark: &Mark| match &figure.y.scale {
        Scale::Names(names) => names.get(mark.y as usize).cloned().unwrap_or_default(),
        _ => mark.y.to_string(),
    };
    let both = |both: Option<(f64, f64)>| match both {
        Some((low, high)) => [low.to_string(), high.to_string()],
        None => [String::new(), String::new()],
    };
    let mut rows = Vec::new();
    for panel in &figure.panels {
        for series in &panel.series {
            for mark in &series.marks {
                let [low, high] = both(mark.interval);
                let [whisker_low, whisker_high] = both(mark.whiskers);
                let [panel, series] = [&panel.title, &series.name].map(String::clone);
                rows.push(vec![
                    panel,
                    series,
                    mark.x.to_string(),
                    y(mark),
                    low,
                    high,
                    whisker_low,
                    whisker_high,
                ]);
            }
        }
    }
    (HEADER.map(str::to_owned).to_vec(), rows)
}

/// A specification of Vega-Lite 6 that reads the data from a CSV file.
pub fn vega_lite(figure: &Figure, file: &str) -> Value {
    let named = matches!(figure.y.scale, Scale::Names(_));
    let axis = |field: &str, axis: &super::Axis, range: &Range| match &axis.scale {
        Scale::Names(names) => {
            json!({ "field": field, "type": "nominal", "title": axis.label, "sort": names })
        }
        scale => {
            let kind = if *scale == Scale::Log { "log" } else { "linear" };
            let mut scale = json!({ "type": kind, "zero": false });
            // 0 has no logarithm: it is drawn at the edge, as what is beyond it.
            if let ((Some(low), Some(high)), "log") = (range.ends(), kind) {
                scale["domain"] = json!([low, high]);
                scale["clamp"] = true.into();
            }
            json!({ "field": field, "type": "quantitative", "title": axis.label, "scale": scale })
        }
    };
    let colour = json!({ "field": "series", "type": "nominal", "title": null });
    let (of_x, of_y) = figure.ranges();
    let (x, y) = (axis("x", &figure.x, &of_x), axis("y", &figure.y, &of_y));
    // Intervals lie along the axis of the values.
    let span = |low: &str, high: &str| {
        let mut encoding = json!({ "x": x, "y": y, "color": colour });
        let (own, end) = if named { ("x", "x2") } else { ("y", "y2") };
        encoding[own]["field"] = low.into();
        encoding[end] = json!({ "field": high });
        encoding
    };
    let kinds: Vec<Kind> =
        figure.panels.iter().flat_map(|panel| &panel.series).map(|series| series.kind).collect();
    let mut layers = Vec::new();
    if kinds.contains(&Kind::Boxes) {
        layers.push(json!({ "mark": "rule", "encoding": span("whisker_low", "whisker_high") }));
        layers.push(json!({ "mark": { "type": "bar", "size": 8, "fillOpacity": 0.3 }, "encoding": span("low", "high") }));
    } else if kinds.contains(&Kind::Line) {
        layers.push(json!({ "mark": { "type": "area", "opacity": 0.2 }, "encoding": span("low", "high") }));
    } else {
        layers.push(json!({ "mark": "rule", "encoding": span("low", "high") }));
    }
    let encoding = json!({ "x": x, "y": y, "color": colour, "shape": colour });
    if kinds.iter().any(|kind| matches!(kind, Kind::Line | Kind::DottedLine)) {
        layers.push(json!({ "mark": "line", "encoding": { "x": x, "y": y, "color": colour } }));
    }
    if kinds.iter().any(|kind| *kind != Kind::Line) {
        layers.push(json!({ "mark": "point", "encoding": encoding }));
    }
    let description = format!("{} {}", figure.about, figure.note);
    let mut spec = json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": figure.title,
        "description": description.trim_end(),
        "data": { "url": file },
    });
    if figure.panels.len() > 1 {
        let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        spec["facet"] = json!({ "column": { "field": "panel", "title": null, "sort": titles } });
        spec["spec"] = json!({ "layer": layers });
    } else {
        spec["layer"] = layers.into();
    }
    spec
}
