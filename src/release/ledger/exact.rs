//! Numbers of a ledger: rational, with the text that stands for them.

use crate::failure::{Failure, Result};
use congenial_exact_noise::Ratio;
use serde::{Deserialize, Serialize};

/// Decimal places of a number whose fraction is too long to be written.
const PLACES: u8 = 40;
/// Decimal places of a number that was computed in floating point.
const COMPUTED: usize = 19;
/// What is added to it, over `10^19`: more than what its text may lack.
const UNIT: u64 = 10u64.pow(COMPUTED as u32);

/// A rational number >= 0, with its text.
///
/// As text: `3`, `0.25`, `7/2` or `1e-9`, of at most 80 letters without exponents. In JSON it is that text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Exact {
    text: String,
    value: Ratio,
}

impl Exact {
    /// Reads a text. Refused: what is no number >= 0 of the forms above; an exponent beyond 60.
    pub fn parse(text: &str) -> Result<Self> {
        let value = plain(text).and_then(|text| text.parse().ok());
        let wanted = || format!("got `{text}`, want a number >= 0 like 3, 0.25, 7/2 or 1e-9");
        let value = value.ok_or_else(|| Failure::Usage(wanted()))?;
        Ok(Self { text: text.to_owned(), value })
    }

    /// A number as it is written: exactly, as decimals or a fraction, or where that has too many letters with 40 decimals, rounded up.
    /// Refused: beyond some 10^39.
    pub fn up(value: &Ratio) -> Result<Self> {
        let decimals = Self::parse(&trimmed(&value.rounded_up(PLACES)));
        if let Some(decimals) = decimals.ok().filter(|decimals| decimals.value() == value) {
            return Ok(decimals);
        }
        let text = value.to_string();
        let text = text.strip_suffix("/1").unwrap_or(&text);
        Self::parse(text).or_else(|_| Self::parse(&value.rounded_up(PLACES)))
    }

    /// The number.
    pub fn value(&self) -> &Ratio {
        &self.value
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A text without an exponent.
fn plain(text: &str) -> Option<String> {
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else { return Some(text.to_owned()) };
    let exponent: i32 = exponent.parse().ok().filter(|exponent| (-60..=60).contains(exponent))?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || part.len() > 80 || (part.is_empty() && digits.contains('.')) {
        return None;
    }
    let shift = exponent - part.len() as i32;
    let zeros = "0".repeat(shift.unsigned_abs() as usize);
    Some(if shift < 0 { format!("{whole}{part}/1{zeros}") } else { format!("{whole}{part}{zeros}") })
}

impl TryFrom<String> for Exact {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        Self::parse(&text).map_err(|e| e.to_string())
    }
}

impl From<Exact> for String {
    fn from(exact: Exact) -> Self {
        exact.text
    }
}

/// A number that is not below a rational one, and not above it by more than a part of 10^15 and 10^-30.
pub(super) fn not_below(value: &Ratio) -> f64 {
    let nearest: f64 = value.rounded_up(30).parse().unwrap_or(f64::INFINITY);
    nearest * (1.0 + 2.0 * f64::EPSILON)
}

/// A number that is not above a rational one of at least 10^-40, and not below it by more than a part of 10^15.
pub(super) fn not_above(value: &Ratio) -> f64 {
    let nearest: f64 = value.rounded_up(60).parse().unwrap_or(f64::INFINITY);
    nearest * (1.0 - 4.0 * f64::EPSILON)
}

/// A rational number above one that was computed, by at most 2·10^-19; `None` if that has no end or more than 59 digits.
pub(super) fn above(computed: f64) -> Option<Ratio> {
    let text = computed.is_finite().then(|| format!("{computed:.COMPUTED$}"))?;
    let value: Ratio = text.parse().ok()?;
    Some(value.plus(&Ratio::new(1, UNIT).ok()?))
}

/// A number for people: with at most six decimals, rounded up.
pub(super) fn shown(value: &Ratio) -> String {
    trimmed(&value.rounded_up(6))
}

/// Decimals without the zeros at their end.
pub(super) fn trimmed(decimals: &str) -> String {
    match decimals.contains('.') {
        true => decimals.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => decimals.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers() {
        let ratio = |numerator, denominator| Ratio::new(numerator, denominator).unwrap();
        for (text, value) in [
            ("3", ratio(3, 1)),
            ("7/2", ratio(7, 2)),
            ("0.25", ratio(1, 4)),
            ("1e-9", ratio(1, 1_000_000_000)),
            ("2.5E3", ratio(2500, 1)),
            ("1.25e1", ratio(25, 2)),
        ] {
            assert_eq!(Exact::parse(text).unwrap().value(), &value, "{text}");
        }
        for text in
            ["", "-1", "1e", "1e61", "e5", "1.e5", "nan", "1/0", "1e-9/2", " 1", "0x1", &"9".repeat(81)]
        {
            let refused = Exact::parse(text).unwrap_err().to_string();
            assert_eq!(refused, format!("got `{text}`, want a number >= 0 like 3, 0.25, 7/2 or 1e-9"));
        }
    }

    /// What is written is never below the number, and is it wherever it has room.
    #[test]
    fn numbers_are_written_upwards() {
        let third = Ratio::new(1, 3).unwrap();
        assert_eq!(Exact::up(&third).unwrap().text(), "1/3");
        assert_eq!(Exact::up(&Ratio::new(4, 1).unwrap()).unwrap().text(), "4");
        let long = (0..90).fold(third.clone(), |sum, _| sum.plus(&third));
        let written = Exact::up(&long).unwrap();
        assert!(written.value() > &long, "{}", written.text());
        assert!(written.value() < &long.plus(&Ratio::new(1, 1 << 60).unwrap()));
        assert!(Exact::parse(written.text()).unwrap().value() == written.value());
        assert!(Exact::up(&Exact::parse("1e60").unwrap().value.times(1 << 60).plus(&third)).is_err());
        for text in ["1/3", "1e-9", "2", "123456789.125", "1e-40"] {
            let value = Exact::parse(text).unwrap();
            let (high, low) = (not_below(value.value()), not_above(value.value()));
            assert!(high > low && high * (1.0 - 1e-14) < low + 1e-30, "{text}: {low} {high}");
            assert!(above(high).unwrap() > *value.value(), "{text}");
        }
        assert!(above(f64::NAN).is_none() && above(1e70).is_none());
        assert_eq!([shown(&third), shown(&Ratio::new(40, 1).unwrap())], ["0.333334", "40"]);
    }
}
