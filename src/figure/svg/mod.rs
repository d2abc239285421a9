//! Figures as SVG: the one look of all of them. The same figure gives the same bytes. There are no style sheets, and the
//! paper is white: so browsers, programs that convert pictures, and those that edit them draw the same.

mod layout;
mod legend;
mod panel;
mod style;
mod text;

use super::Figure;
use layout::Layout;
use std::fmt::Write;
use style::{FAINT, INK, PAPER, styles};
pub use style::{SERIES, dark};
use text::{escaped, short};

/// The sizes of a figure and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The width of the whole figure, in pixels.
    pub width: f64,
    /// The height of a panel, in pixels; with names on the axis y it follows from them.
    pub height: f64,
    /// The size of letters, in pixels.
    pub font: f64,
    /// Whether the title stands above the figure.
    pub titled: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 760.0, height: 320.0, font: 12.0, titled: false }
    }
}

/// Draws a figure as SVG. Of one with more than [`SERIES`] series signs are used again: see [`Figure::parts`].
pub fn svg(figure: &Figure, look: Look) -> String {
    let names = figure.names();
    let styles = styles(figure, &names);
    let place = Layout::of(figure, look, &names);
    let (width, height) = (short(look.width), short(place.height));
    let mut out = String::new();
    let id = &figure.name;
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"{id}-title {id}-about\" font-family=\"sans-serif\" font-size=\"{}\">\n<title \
         id=\"{id}-title\">{}</title>\n<desc id=\"{id}-about\">{}</desc>\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"{PAPER}\" stroke=\"none\"/>\n",
        short(look.font),
        escaped(&figure.title),
        escaped(&figure.about)
    );
    for (i, line) in place.title.iter().enumerate() {
        let at = (look.font, look.font * (1.5 + 1.3 * i as f64));
        label(&mut out, at, line, &format!("fill=\"{INK}\" font-weight=\"bold\""));
    }
    legend::draw(&mut out, &place, &styles, &names, look);
    for (i, panel) in figure.panels.iter().enumerate() {
        panel::Frame::of(figure, &place, look, i).draw(&mut out, panel, &styles, &names);
    }
    let ink = format!("fill=\"{INK}\" text-anchor=\"middle\"");
    for (i, line) in place.x_label.iter().enumerate() {
        // Below the panels, as far as it has room there.
        let half = (0.5 * text::width(line, look.font) + 0.3 * look.font).min(0.5 * look.width);
        let middle = ((place.left + look.width) / 2.0).clamp(half, look.width - half);
        label(&mut out, (middle, place.below + look.font * (1.1 + 1.3 * i as f64)), line, &ink);
    }
    if !figure.y.label.is_empty() {
        let (x, y) = (1.2 * look.font, (place.top + place.below) / 2.0);
        let turned = format!("{ink} transform=\"rotate(-90 {} {})\"", short(x), short(y));
        label(&mut out, (x, y), &figure.y.label, &turned);
    }
    let faint = format!("fill=\"{FAINT}\"");
    for (i, line) in place.note.iter().enumerate() {
        let below = place.below + look.font * (0.6 + 1.3 * place.x_label.len() as f64);
        label(&mut out, (look.font, below + look.font * (1.1 + 1.3 * i as f64)), line, &faint);
    }
    out + "</svg>\n"
}

/// A line of text at a place, with more attributes.
fn label(out: &mut String, (x, y): (f64, f64), text: &str, attributes: &str) {
    let _ =
        writeln!(out, "<text x=\"{}\" y=\"{}\" {attributes}>{}</text>", short(x), short(y), escaped(text));
}
