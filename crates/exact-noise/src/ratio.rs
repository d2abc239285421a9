//! Rational numbers >= 0: what is asked for, and what is paid.

use crate::big;
use crate::error::{Error, Result};
use dashu_int::UBig;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Letters that a number may have as text.
const MOST_LETTERS: usize = 80;

/// A rational number >= 0, as a numerator and a denominator of any size. Comparisons are those of the numbers: 1/2 equals 2/4.
///
/// As text: a whole number (`2`), a decimal (`0.25`) or a fraction of whole numbers (`1/3`), of at most 80 letters; signs, exponents and
/// anything else are refused. It is shown as `numerator/denominator`.
///
/// ```
/// use congenial_exact_noise::Ratio;
///
/// let half: Ratio = "0.5".parse()?;
/// assert_eq!(half, Ratio::new(2, 4)?);
/// assert_eq!(half.plus(&"1/3".parse()?).to_string(), "25/30");
/// assert!("-1".parse::<Ratio>().is_err() && "1e-3".parse::<Ratio>().is_err() && "1/0".parse::<Ratio>().is_err());
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ratio {
    pub(crate) numerator: UBig,
    pub(crate) denominator: UBig,
}

impl Ratio {
    /// `numerator / denominator`. Refuses a denominator of 0.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self> {
        Self::of(UBig::from(numerator), UBig::from(denominator))
    }

    fn of(numerator: UBig, denominator: UBig) -> Result<Self> {
        if denominator.is_zero() {
            return Err(Error::parameter("denominator", 0, "at least 1"));
        }
        Ok(Self { numerator, denominator })
    }

    /// The sum of two: losses of counts that one record touches add up.
    pub fn plus(&self, other: &Self) -> Self {
        let numerator = &self.numerator * &other.denominator + &other.numerator * &self.denominator;
        Self { numerator, denominator: &self.denominator * &other.denominator }
    }

    /// A multiple: what a record pays that changes a count by `factor`, of the loss of one unit.
    pub fn times(&self, factor: u64) -> Self {
        Self { numerator: &self.numerator * UBig::from(factor), denominator: self.denominator.clone() }
    }

    /// A part: what a unit may pay, of the loss of a record that changes a count by `parts`. Refuses 0 parts.
    pub fn per(&self, parts: u64) -> Result<Self> {
        Self::of(self.numerator.clone(), &self.denominator * UBig::from(parts))
    }

    /// Decimal digits with `places` behind the point, rounded up: never below the number.
    ///
    /// ```
    /// # use congenial_exact_noise::Ratio;
    /// assert_eq!(Ratio::new(1, 3)?.rounded_up(4), "0.3334");
    /// # Ok::<(), congenial_exact_noise::Error>(())
    /// ```
    pub fn rounded_up(&self, places: u8) -> String {
        let scaled = &self.numerator * UBig::from(10u64).pow(usize::from(places));
        let digits = big::ceil(&scaled, &self.denominator).unwrap_or_default().to_string();
        let places = usize::from(places);
        let digits = format!("{digits:0>width$}", width = places.saturating_add(1));
        match digits.split_at_checked(digits.len().saturating_sub(places)) {
            Some((whole, part)) if !part.is_empty() => format!("{whole}.{part}"),
            _ => digits,
        }
    }
}

impl FromStr for Ratio {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || {
            let shown: String = text.chars().take(MOST_LETTERS).flat_map(char::escape_default).collect();
            Error::parameter("number", shown, "a whole number, a decimal or a fraction like 1/3")
        };
        let whole = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|letter| letter.is_ascii_digit());
            let number = if is_number { UBig::from_str_radix(digits, 10).ok() } else { None };
            number.ok_or_else(refused)
        };
        if text.len() > MOST_LETTERS {
            return Err(refused());
        }
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Self::of(whole(numerator)?, whole(denominator)?);
        }
        let Some((before, behind)) = text.split_once('.') else { return Self::of(whole(text)?, UBig::ONE) };
        let shift = UBig::from(10u64).pow(behind.len());
        Self::of(whole(before)? * &shift + whole(behind)?, shift)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}
