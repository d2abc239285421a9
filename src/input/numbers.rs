//! Whole numbers as people and programs write them: `1381069`, `1,381,069`, `1.381.069`, `4.0`, `1e+05`.
//!
//! A comma or a point stands for thousands or begins decimals. Where a value leaves that open (`1.381`), the others of its
//! column may settle it; where they do not, the value is refused.

use super::CsvTable;
use crate::failure::Result;
use std::cell::OnceCell;

/// What a comma or a point stands for in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Thousands,
    Decimals,
}

/// What both signs stand for in a column, if that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    comma: Option<Sign>,
    point: Option<Sign>,
}

/// How one value is written.
#[derive(Debug, PartialEq)]
enum Written {
    /// Digits alone.
    Plain,
    /// This sign stands for thousands.
    Thousands(char),
    /// This sign begins decimals.
    Decimals(char),
    /// The first sign stands for thousands, and the second begins decimals.
    Both(char, char),
    /// This sign stands for thousands, or begins three decimals.
    Open(char),
}

/// Why a text is no count.
#[derive(Debug, PartialEq)]
enum Why {
    /// It is none at all.
    Other,
    Blank,
    /// It stands for a count that is hidden or missing.
    Hidden,
    Negative,
    /// It has decimals, which are not 0.
    Fraction,
    /// It may be a rounded number.
    Rounded,
    /// Its sign stands for thousands or for decimals.
    Open,
}

/// Signs that stand for thousands and for nothing else: blanks of several kinds and apostrophes.
const GROUPS: [char; 7] = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '\u{2019}', '_'];

/// What stands in place of counts that are hidden or missing, in small letters, without brackets.
const HIDDEN: [&str; 21] = [
    "-", "--", "–", "—", ".", "..", "...", "…", "*", "**", "/", ":", "x", "c", "d", "s", "z", "na", "n/a",
    "null", "nan",
];

impl Written {
    /// How a number without a minus and without an exponent is written. `None`: it is none.
    fn of(text: &str) -> Option<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let grouped = |text: &str, sign: char| {
            let mut groups = text.split(sign);
            let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first));
            first && groups.all(|group| group.len() == 3 && digits(group))
        };
        let whole_and_decimals = |sign: char| {
            let (whole, decimals) = text.split_once(sign)?;
            (digits(decimals) && whole.len() + decimals.len() > 0).then_some(whole)
        };
        if let Some(sign) = GROUPS.into_iter().find(|&sign| text.contains(sign)) {
            if grouped(text, sign) {
                return Some(Self::Thousands(sign));
            }
            let decimal = [',', '.'].into_iter().find(|&decimal| text.contains(decimal))?;
            return grouped(whole_and_decimals(decimal)?, sign).then_some(Self::Both(sign, decimal));
        }
        match (text.rfind(','), text.rfind('.')) {
            (None, None) => (digits(text) && !text.is_empty()).then_some(Self::Plain),
            (Some(comma), Some(point)) => {
                let (thousands, decimal) = if comma < point { (',', '.') } else { ('.', ',') };
                grouped(whole_and_decimals(decimal)?, thousands).then_some(Self::Both(thousands, decimal))
            }
            (comma, _) => {
                let sign = if comma.is_some() { ',' } else { '.' };
                if text.matches(sign).count() > 1 {
                    return grouped(text, sign).then_some(Self::Thousands(sign));
                }
                let whole = whole_and_decimals(sign).filter(|whole| digits(whole))?;
                let open = grouped(text, sign) && !whole.starts_with('0');
                Some(if open { Self::Open(sign) } else { Self::Decimals(sign) })
            }
        }
    }
}

impl Style {
    fn of(&self, sign: char) -> Option<Sign> {
        match sign {
            ',' => self.comma,
            '.' => self.point,
            _ => Some(Sign::Thousands),
        }
    }

    /// The number that a text is. `text`: not one that parses as it stands.
    fn read(&self, text: &str) -> std::result::Result<i64, Why> {
        let bare = text.trim_matches(['(', ')', '[', ']']).to_lowercase();
        match text {
            "" => return Err(Why::Blank),
            _ if HIDDEN.contains(&&bare[..]) || text.starts_with(['<', '>', '≤', '≥', '~']) => {
                return Err(Why::Hidden);
            }
            _ => {}
        }
        if let Some(rest) = text.strip_prefix(['-', '−']) {
            return Err(if rest.starts_with(|c: char| c.is_ascii_digit()) {
                Why::Negative
            } else {
                Why::Other
            });
        }
        if let Some((mantissa, exponent)) = text.split_once(['e', 'E']) {
            // Spreadsheets write `1.38E+06` for 1381069.
            let rounded = text.contains("E+") && mantissa.starts_with(|c: char| c.is_ascii_digit());
            return if rounded { Err(Why::Rounded) } else { scaled(mantissa, exponent) };
        }
        let decimals = match Written::of(text).ok_or(Why::Other)? {
            Written::Plain | Written::Thousands(_) => None,
            Written::Decimals(sign) | Written::Both(_, sign) => Some(sign),
            Written::Open(sign) => match self.of(sign) {
                Some(Sign::Thousands) => None,
                Some(Sign::Decimals) => Some(sign),
                None => return Err(Why::Open),
            },
        };
        let (whole, decimals) = decimals.and_then(|sign| text.split_once(sign)).unwrap_or((text, ""));
        if decimals.bytes().any(|byte| byte != b'0') {
            return Err(Why::Fraction);
        }
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() { Ok(0) } else { digits.parse().map_err(|_| Why::Other) }
    }
}

/// The whole number `mantissa * 10^exponent`.
fn scaled(mantissa: &str, exponent: &str) -> std::result::Result<i64, Why> {
    let (whole, decimals) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent: usize = exponent.parse().ok().filter(|&exponent| exponent <= 18).ok_or(Why::Other)?;
    if whole.is_empty() || !digits(whole) || !digits(decimals) {
        return Err(Why::Other);
    }
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > exponent {
        return Err(Why::Fraction);
    }
    let zeros = "0".repeat(exponent - decimals.len());
    format!("{whole}{decimals}{zeros}").parse().map_err(|_| Why::Other)
}

/// What settles the signs of a column: the first row that shows each.
#[derive(Debug, Default)]
struct Evidence {
    /// By sign, comma and point: a row with thousands, with decimals, and one that is open.
    thousands: [Option<usize>; 2],
    decimals: [Option<usize>; 2],
    open: [Option<usize>; 2],
    /// An open value with a last 0, of which decimals would leave out.
    full: [Option<usize>; 2],
    /// A value without a sign below 1000, and one above.
    small: bool,
    large: bool,
}

impl Evidence {
    fn of(table: &CsvTable, place: usize) -> Self {
        let mut all = Self::default();
        let first = |place: &mut Option<usize>, row| *place = place.or(Some(row));
        for row in 0..table.len() {
            let text = table.text(row, place);
            let number = |sign| usize::from(sign == '.');
            match Written::of(text) {
                Some(Written::Plain) => {
                    (all.small, all.large) = (all.small || text.len() < 4, all.large || text.len() > 3);
                }
                Some(Written::Thousands(sign @ (',' | '.'))) => first(&mut all.thousands[number(sign)], row),
                Some(Written::Decimals(sign)) => first(&mut all.decimals[number(sign)], row),
                Some(Written::Both(thousands, decimals)) => {
                    if matches!(thousands, ',' | '.') {
                        first(&mut all.thousands[number(thousands)], row);
                    }
                    first(&mut all.decimals[number(decimals)], row);
                }
                Some(Written::Open(sign)) => {
                    first(&mut all.open[number(sign)], row);
                    if text.ends_with('0') && !text.ends_with("000") {
                        first(&mut all.full[number(sign)], row);
                    }
                }
                Some(Written::Thousands(_)) | None => {}
            }
        }
        all
    }

    /// Two rows of which one needs what the other forbids.
    fn conflict(&self) -> Option<(usize, usize)> {
        let both = |one: Option<usize>, other: Option<usize>| one.zip(other);
        both(self.thousands[0], self.decimals[0])
            .or(both(self.thousands[1], self.decimals[1]))
            .or(both(self.thousands[0], self.thousands[1]))
            .or(both(self.decimals[0], self.decimals[1]))
    }

    /// What the signs stand for: what a value shows; else the other of what the other sign is shown to stand for; else
    /// thousands, where a value ends with a 0 that no decimals end with (of a writer that leaves such zeros out), small
    /// values have no sign (so that it does leave them out), and large ones have.
    fn style(&self) -> Style {
        let of = |sign: usize| {
            let other = 1 - sign;
            let thousands = self.thousands[sign].is_some()
                || (self.decimals[sign].is_none()
                    && (self.decimals[other].is_some()
                        || (self.thousands[other].is_none()
                            && self.open[other].is_none()
                            && self.full[sign].is_some()
                            && self.small
                            && !self.large)));
            let decimals = self.decimals[sign].is_some() || self.thousands[other].is_some();
            match (thousands, decimals) {
                (true, _) => Some(Sign::Thousands),
                (false, true) => Some(Sign::Decimals),
                (false, false) => None,
            }
        };
        Style { comma: of(0), point: of(1) }
    }
}

/// The counts of a column.
pub(super) struct Numbers<'a> {
    table: &'a CsvTable,
    place: usize,
    /// How numbers are written in the whole column, once a value needs it.
    style: OnceCell<Style>,
}

impl<'a> Numbers<'a> {
    pub fn new(table: &'a CsvTable, place: usize) -> Self {
        Self { table, place, style: OnceCell::new() }
    }

    /// The count of a row. Refused, with the row: what is no whole number >= 0, or may be two.
    #[inline]
    pub fn count(&self, row: usize) -> Result<i64> {
        match self.table.text(row, self.place).parse() {
            Ok(count) if count >= 0 => Ok(count),
            _ => self.written(row),
        }
    }

    /// The count of a row that is not written in digits alone.
    #[cold]
    fn written(&self, row: usize) -> Result<i64> {
        let (table, text) = (self.table, self.table.text(row, self.place));
        let name = &table.columns[self.place];
        let style = match self.style.get() {
            Some(style) => style,
            None => {
                let evidence = Evidence::of(table, self.place);
                if let Some((one, other)) = evidence.conflict() {
                    let (one, other) = (one.min(other), one.max(other));
                    let message = format!(
                        "`{name}` = `{}`, and `{}` on {}: one sign for two things, or two for one; want integers >= 0, \
                         without signs",
                        table.text(other, self.place),
                        table.text(one, self.place),
                        table.place(one)
                    );
                    return Err(table.bad_row(other, message));
                }
                self.style.get_or_init(|| evidence.style())
            }
        };
        style.read(text).map_err(|why| {
            let hint = match why {
                Why::Other | Why::Negative => String::new(),
                Why::Blank => ": write 0 where nobody is, or leave the row out".into(),
                Why::Hidden => {
                    ": it stands for a count that is hidden or missing; write a number in its place, or leave the row out"
                        .into()
                }
                Why::Fraction => ": records are counted whole; round it if it is weighted or measured".into(),
                Why::Rounded => ": it may be rounded; write all digits".into(),
                Why::Open => {
                    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                    format!(
                        ": it may be {digits}, or have three decimals, and no other value tells; write `{digits}`, without \
                         signs"
                    )
                }
            };
            table.bad_row(row, format!("`{name}` = `{text}`, want an integer >= 0{hint}"))
        })
    }

    /// What was seen of the column that not every column has, for people.
    pub fn note(&self) -> Option<String> {
        let (table, style) = (self.table, self.style.get()?);
        let tells = |row: &usize| match Written::of(table.text(*row, self.place)) {
            Some(Written::Plain | Written::Decimals('.')) | None => false,
            Some(Written::Open(sign)) => style.of(sign) == Some(Sign::Thousands) || sign == ',',
            Some(_) => true,
        };
        let row = (0..table.len()).find(tells)?;
        let text = table.text(row, self.place);
        let count = style.read(text).ok()?;
        let name = &table.columns[self.place];
        Some(format!("`{name}` = `{text}` on {} is read as {count}", table.place(row)))
    }
}

/// The counts of a column, by row. Refused, with the row: what is no whole number >= 0.
pub fn whole_counts(table: &CsvTable, place: usize) -> Result<Vec<i64>> {
    let numbers = Numbers::new(table, place);
    (0..table.len()).map(|row| numbers.count(row)).collect()
}

/// The counts of a column, by row; `None` where it is blank. Refused, with the row: what is no whole number >= 0.
pub fn counts_or_blank(table: &CsvTable, place: usize) -> Result<Vec<Option<i64>>> {
    let numbers = Numbers::new(table, place);
    let count = |row| (!table.text(row, place).is_empty()).then(|| numbers.count(row)).transpose();
    (0..table.len()).map(count).collect()
}

/// Whether a text is a number, whole or not, however it is written; blanks and what hides counts are none.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '−', '+']).unwrap_or(text);
    Written::of(unsigned).is_some() || (text.parse::<f64>().is_ok_and(f64::is_finite))
}

/// Whether a text says that there is no number where there should be one.
pub(super) fn is_hidden(text: &str) -> bool {
    matches!(Style::default().read(text), Err(Why::Blank | Why::Hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The counts of a column, or what is wrong, and the note.
    fn read(values: &[&str]) -> (std::result::Result<Vec<i64>, String>, Option<String>) {
        let columns = [("n".to_owned(), values.iter().map(|text| Some(*text)).collect())];
        let table = CsvTable::from_columns(Path::new("t"), &columns, &Default::default()).unwrap();
        let numbers = Numbers::new(&table, 0);
        let counts = (0..table.len()).map(|row| numbers.count(row)).collect::<Result<Vec<_>>>();
        (counts.map_err(|e| e.to_string()), numbers.note())
    }

    #[test]
    fn counts_are_read() {
        let is =
            |values: &[&str], wanted: &[i64]| assert_eq!(read(values).0.as_deref(), Ok(wanted), "{values:?}");
        is(&["4.0", "12.00", "0.0", "7", "3."], &[4, 12, 0, 7, 3]);
        is(&["4,0", "12,00", "7"], &[4, 12, 7]);
        is(&["1,381,069", "1,381", "12"], &[1_381_069, 1381, 12]);
        is(&["1.381.069", "1.381", "12"], &[1_381_069, 1381, 12]);
        is(&["1,381.00", "2,004", "5.0"], &[1381, 2004, 5]);
        is(&["1.381,0", "2.004"], &[1381, 2004]);
        is(&["4.0", "1,381"], &[4, 1381]);
        is(&["1 381 069", "1 381", "12"], &[1_381_069, 1381, 12]);
        is(&["1\u{202f}381", "1'381", "1’381’069", "1_000"], &[1381, 1381, 1_381_069, 1000]);
        is(&["1 381,0"], &[1381]);
        // Plain digits above 999 do not matter where thousands are shown.
        is(&["1,381,069", "12004"], &[1_381_069, 12004]);
        // A last 0 is no decimal of a writer that writes `12`.
        is(&["1.380", "12", "2.004"], &[1380, 12, 2004]);
        is(&["1e+05", "1.5e3", "2E5", "1.0E7"], &[100_000, 1500, 200_000, 10_000_000]);
        is(&["1.000", "0.5e1", "2.0"], &[1, 5, 2]);
    }

    #[test]
    fn what_is_read_in_another_way_is_said() {
        assert_eq!(read(&["12", "1.381.069"]).1.unwrap(), "`n` = `1.381.069` on row 2 is read as 1381069");
        assert_eq!(read(&["12", "4,0"]).1.unwrap(), "`n` = `4,0` on row 2 is read as 4");
        assert_eq!(read(&["12", "4.0"]).1, None);
    }

    #[test]
    fn what_is_no_count_or_may_be_two_is_refused() {
        let refused = |values: &[&str], wanted: &[&str]| {
            let message = read(values).0.unwrap_err();
            wanted.iter().for_each(|wanted| assert!(message.contains(wanted), "{values:?}: {message}"));
        };
        refused(&["5", "1.381"], &["row 2: `n` = `1.381`", "may be 1381", "write `1381`"]);
        refused(&["1,381", "999"], &["row 1", "may be 1381"]);
        refused(&["1.000", "12"], &["may be 1000"]);
        refused(&["1.380", "12", "1234"], &["row 1", "may be 1380"]);
        refused(&["1.380", "2.004"], &["may be 1380"]);
        refused(&["1.380", "2,004", "1"], &["may be 1380"]);
        refused(&["1.5", "1.381.069"], &["row 2", "`1.381.069`, and `1.5` on row 1"]);
        refused(&["1.381.069", "1,381,069"], &["row 2"]);
        refused(&["4,0", "4.0"], &["row 2"]);
        refused(&["4.5"], &["`4.5`, want an integer >= 0: records are counted whole"]);
        refused(&["12.3456"], &["counted whole"]);
        refused(&["0.123"], &["counted whole"]);
        refused(&[""], &["write 0 where nobody is"]);
        for hidden in ["<5", "< 10", "NA", "n/a", "-", "–", "..", "*", "(D)", "x", "NaN", "null"] {
            refused(&["1", hidden], &["row 2", hidden, "hidden or missing"]);
        }
        refused(&["1.38E+06"], &["may be rounded"]);
        for other in [
            "-1",
            "oops",
            "1,38,069",
            "1.381.06",
            "12 34",
            "1,2.3,4",
            "5*",
            "0x1f",
            "1e",
            "1e-3",
            "1e400",
            "inf",
            "1 381.5.2",
        ] {
            refused(&["1", other], &["row 2: `n` = `", "want an integer >= 0"]);
        }
        refused(&["99999999999999999999"], &["want an integer >= 0"]);
    }
}
