//! Numbers in words.

use crate::diagnostics::Estimate;

/// Seconds in words.
pub fn duration(seconds: f64) -> String {
    const YEAR: f64 = 365.25 * 86400.0;
    match seconds {
        s if s > 0.0 && s < 9.995e-4 => format!("{:.0} µs", s * 1e6),
        s if s > 0.0 && s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s > 0.0 && s < 9.95 => format!("{s:.1} s"),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 2.0 * 86400.0 => format!("{:.0} h", s / 3600.0),
        s if s < 2.0 * YEAR => format!("{:.0} days", s / 86400.0),
        s if s < 100.0 * YEAR => format!("{:.0} years", s / YEAR),
        _ => "centuries".into(),
    }
}

/// A number of bytes in words.
pub fn bytes(bytes: f64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let place =
        (0..units.len() - 1).find(|&i| bytes < 999.5 * libm::pow(1e3, i as f64)).unwrap_or(units.len() - 1);
    let x = bytes / libm::pow(1e3, place as f64);
    match (place, x) {
        (0, x) => format!("{x:.0} bytes"),
        (_, x) if x < 9.95 => format!("{x:.1} {}", units[place]),
        (_, x) => format!("{x:.0} {}", units[place]),
    }
}

/// A number of things in words, for one that has its plural by an s.
pub fn counted(n: f64, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1.0 { "" } else { "s" })
}

/// A number of rows in words: by groups of three digits, from a billion on rounded.
pub fn thousands(n: f64) -> String {
    let grouped = |n: f64| {
        let digits = format!("{n:.0}");
        let places = digits.len();
        let group = |(i, c): (usize, char)| {
            let comma = (i > 0 && (places - i) % 3 == 0).then_some(',');
            comma.into_iter().chain([c])
        };
        digits.chars().enumerate().flat_map(group).collect::<String>()
    };
    match n {
        n if n < 0.0 => format!("-{}", thousands(-n)),
        n if n < 1e9 => grouped(n),
        n if n < 1e12 => format!("{:.1} billion", n / 1e9),
        n if n < 1e15 => format!("{:.1} trillion", n / 1e12),
        n => format!("{n:.0e}"),
    }
}

/// `mean ± standard error`, both with the decimals that give the error two digits.
pub fn with_error(estimate: Estimate) -> String {
    to_digits(estimate, 1.0)
}

/// `mean ± standard error`, both with the decimals that give the error one digit, or two if the first is a 1: for tables
/// that are read before all others.
pub fn brief(estimate: Estimate) -> String {
    let place = libm::log10(estimate.standard_error);
    to_digits(estimate, if place - place.floor() < libm::log10(1.95) { 1.0 } else { 0.0 })
}

/// Below it an estimate and its error are rounding.
const ROUNDING: f64 = 1e-10;

/// `mean ± standard error`, with so many digits of the error behind its first.
fn to_digits(estimate: Estimate, digits: f64) -> String {
    let Estimate { mean, standard_error } = estimate;
    // What only rounding keeps from 0.
    if mean.abs() < ROUNDING && standard_error < ROUNDING {
        return number(0.0);
    }
    if standard_error.is_nan() || standard_error <= 0.0 {
        return number(mean);
    }
    let decimals = (digits - libm::log10(standard_error).floor()).clamp(0.0, 12.0) as usize;
    format!("{mean:.decimals$} ± {standard_error:.decimals$}")
}

/// A number with six decimals, or in scientific notation.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.6}") } else { format!("{x:.3e}") }
}

/// Counts of releases in words, and the smallest: `50`, or `50 to 200`.
pub fn replicates(counts: impl IntoIterator<Item = u64>) -> (u64, String) {
    let limits = |(least, most): (u64, u64), count: u64| (least.min(count), most.max(count));
    let (least, most) = counts.into_iter().fold((u64::MAX, 0), limits);
    (least, if least >= most { most.to_string() } else { format!("{least} to {most}") })
}

/// A column of the data by its name; one that has the name of one of ours is told apart from it.
pub fn data_column<S: AsRef<str>>(name: &str, ours: &[S]) -> String {
    match ours.iter().any(|own| own.as_ref() == name) {
        true => format!("data.{name}"),
        false => name.to_owned(),
    }
}

/// A number that a table can hold.
pub fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_digits() {
        let words = |mean, standard_error| {
            let estimate = Estimate { mean, standard_error };
            [with_error(estimate), brief(estimate)]
        };
        assert_eq!(words(5.1372, 0.0368), ["5.137 ± 0.037", "5.14 ± 0.04"]);
        assert_eq!(words(4.6489, 0.0123), ["4.649 ± 0.012", "4.649 ± 0.012"]);
        assert_eq!(words(1234.5, 30.0), ["1234 ± 30", "1234 ± 30"]);
        assert_eq!(words(0.5, f64::NAN), ["0.500000", "0.500000"]);
        assert_eq!(words(0.0, 0.0), ["0.000000", "0.000000"]);
    }

    #[test]
    fn numbers_in_words() {
        let all = [0.0, 2e-5, 0.05, 3.2, 99.4, 150.0, 7200.0, 260000.0, 3e9, 1e18].map(duration);
        assert_eq!(
            all,
            ["0 s", "20 µs", "50 ms", "3.2 s", "99 s", "2 min", "2 h", "3 days", "95 years", "centuries"]
        );
        let all = [0.0, 999.0, 1234.0, 45_600_000.0, 9.96e9, 2e22].map(bytes);
        assert_eq!(all, ["0 bytes", "999 bytes", "1.2 kB", "46 MB", "10 GB", "20000 EB"]);
        let all = [0.0, 999.0, 1000.0, -100.0, 1_234_567.0, 2.5e9, 1.2e13, 3e18].map(thousands);
        assert_eq!(all, ["0", "999", "1,000", "-100", "1,234,567", "2.5 billion", "12.0 trillion", "3e18"]);
    }
}
