//! CSV, row by row: every reader of such files goes through here.
//!
//! Fields stand between commas, or between semicolons, tabs or bars ([`Separator`]). Rows end with a line feed, a
//! carriage return or both; a line without anything is no row. A field that begins with a quote ends with one, and holds
//! what is between them: separators, line ends, and quotes that are written twice. In other fields quotes are what they
//! are. Blanks around fields are taken off.

use super::encoding::{Encoding, Text};
use super::separator::{Separator, shown};
use crate::failure::{Failure, Result};
use std::io::{BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

/// Bytes of a row at most, with what is read ahead: a file of zeros would be taken into memory as a single field.
const LONGEST: usize = 16 << 20;
/// Bytes that are read ahead.
const AHEAD: usize = 1 << 18;

/// What was read ahead, and the rest.
type Source<'a> = Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

/// A text that is read row by row, from anywhere.
pub(super) struct Rows<'a> {
    path: &'a Path,
    source: BufReader<Source<'a>>,
    /// What the text is in its source, and what stands between its fields.
    encoding: &'static str,
    separator: u8,
    /// The fields of the row with separators between them, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// The line of the next byte, from 1, and whether the byte before it is a carriage return.
    reached: u64,
    returned: bool,
    /// Where the row begins, and where its last quotes open.
    begins: u64,
    opens: u64,
    /// How many fields the first row has, and where it begins.
    first: Option<(usize, u64)>,
}

/// Where the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a row.
    Before,
    /// Where a field begins.
    Begin,
    /// In a field without quotes.
    Plain,
    /// Between quotes.
    Quoted,
    /// Behind a quote between quotes: it closes them, or is the first of two.
    Closed,
    /// Behind blanks behind quotes.
    Behind,
}

impl<'a> Rows<'a> {
    /// `path`: the name of the text in messages. Refused: two separators that would both do; UTF-16 without its mark.
    pub fn new(path: &'a Path, source: impl Read + 'a, encoding: Encoding) -> Result<Self> {
        let Text { head, whole, rest, name } = Text::new(source, encoding);
        let separator = Separator::of(&head, whole).map_err(|why| Failure::data(path, why))?;
        let zeros = head.contains(&0);
        let mut rows = Self {
            path,
            source: BufReader::with_capacity(AHEAD, Cursor::new(head).chain(rest)),
            encoding: name,
            separator: separator.byte,
            text: String::new(),
            ends: Vec::new(),
            reached: 1,
            returned: false,
            begins: 1,
            opens: 1,
            first: None,
        };
        if separator.said {
            rows.next()?;
            rows.first = None;
        }
        if zeros && rows.encoding == "UTF-8" {
            return Err(Failure::data(
                path,
                "it has bytes of zeros: is it UTF-16 without its mark, or no text? want UTF-8",
            ));
        }
        Ok(rows)
    }

    /// What was seen of the text that not every text has, for people.
    pub fn notes(&self) -> Vec<String> {
        let separator =
            (self.separator != b',').then(|| format!("columns stand between `{}`", shown(self.separator)));
        let encoding = (self.encoding != "UTF-8").then(|| format!("the text is {}", self.encoding));
        separator.into_iter().chain(encoding).collect()
    }

    /// Whether the text is read as Windows-1252, which nothing in it says.
    pub fn is_guessed(&self) -> bool {
        self.encoding == "Windows-1252"
    }

    /// Reads the next row; `false` at the end.
    ///
    /// Refused, with the line: quotes that are not closed; text behind a closing quote; a row with another number of fields than the first;
    /// one of more than 16 MiB; text that is not UTF-8. Errors: the source.
    pub fn next(&mut self) -> Result<bool> {
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        self.ends.clear();
        if !self.fill(&mut text)? {
            return Ok(false);
        }
        let fields = self.ends.len();
        let (wanted, first) = *self.first.get_or_insert((fields, self.begins));
        if fields != wanted {
            let has = |n: usize| if n == 1 { "1 field".to_owned() } else { format!("{n} fields") };
            let alone = fields == 1 || wanted == 1;
            let hint = if alone { "; want the table alone, without titles and notes" } else { "" };
            let message = format!("it has {}, line {first} has {}{hint}", has(fields), has(wanted));
            return Err(self.bad(self.begins, message));
        }
        // With separators between them no character goes on in the next field.
        let not = |_| self.bad(self.begins, format!("text that is not {}", self.encoding));
        self.text = String::from_utf8(text).map_err(not)?;
        Ok(true)
    }

    /// Reads the bytes of the next row, and where its fields end.
    fn fill(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        let (mut place, separator) = (Place::Before, self.separator);
        loop {
            let bytes = match self.source.fill_buf() {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(|e| Failure::data(self.path, e.to_string()))?,
            };
            if bytes.is_empty() {
                return self.at_end(place, text.len());
            }
            let (mut at, mut ended) = (0, false);
            while let Some(&byte) = bytes.get(at).filter(|_| !ended) {
                at += 1;
                // The row or its quotes begin on this line, also if the byte ends it.
                let line = self.reached;
                let ends_line = matches!(byte, b'\r' | b'\n');
                let follows = std::mem::replace(&mut self.returned, byte == b'\r');
                self.reached += u64::from(ends_line && !(follows && byte == b'\n'));
                if place == Place::Before && !ends_line {
                    self.begins = line;
                }
                place = match (place, byte) {
                    (Place::Before, b'\r' | b'\n') => Place::Before,
                    (_, b'\r' | b'\n') if place != Place::Quoted => {
                        self.ends.push(text.len());
                        ended = true;
                        place
                    }
                    (Place::Quoted, b'"') => Place::Closed,
                    (Place::Quoted, _) => {
                        let stops = |byte: &u8| matches!(byte, b'"' | b'\r' | b'\n');
                        let more = bytes[at..].iter().position(stops).unwrap_or(bytes.len() - at);
                        let more = if ends_line { 0 } else { more };
                        text.extend_from_slice(&bytes[at - 1..at + more]);
                        at += more;
                        Place::Quoted
                    }
                    (_, byte) if byte == separator => {
                        self.ends.push(text.len());
                        text.push(byte);
                        Place::Begin
                    }
                    (Place::Before | Place::Begin, b'"') => {
                        self.opens = line;
                        Place::Quoted
                    }
                    (Place::Closed, b'"') => {
                        text.push(byte);
                        Place::Quoted
                    }
                    (Place::Closed | Place::Behind, b' ' | b'\t') => Place::Behind,
                    (Place::Closed | Place::Behind, _) => return Err(self.behind_quotes(line)),
                    (Place::Before | Place::Begin | Place::Plain, _) => {
                        let more = plain(&bytes[at..], separator, text.len() + 1, &mut self.ends);
                        let here = at - 1..at + more;
                        at = here.end;
                        text.extend_from_slice(&bytes[here]);
                        if bytes[at - 1] == separator { Place::Begin } else { Place::Plain }
                    }
                };
            }
            self.source.consume(at);
            if ended {
                return Ok(true);
            }
            if text.len() > LONGEST {
                return Err(self.too_long(place));
            }
        }
    }

    /// Whether the source ends in a row, the last field of which then ends at `end`; `place`: where the byte behind it
    /// would stand. Refused: an end between quotes.
    fn at_end(&mut self, place: Place, end: usize) -> Result<bool> {
        match place {
            Place::Before => Ok(false),
            Place::Quoted => {
                Err(self.bad(self.opens, "a quote opens here and is not closed before the end of the file"))
            }
            Place::Begin | Place::Plain | Place::Closed | Place::Behind => {
                self.ends.push(end);
                Ok(true)
            }
        }
    }

    /// The error of text behind a closing quote, on a line.
    fn behind_quotes(&self, line: u64) -> Failure {
        let opens = self.opens;
        let message = format!(
            "text stands behind a closing quote, want a separator or the end of the line: the quotes \
                open on line {opens}, and a \
             quote between them is written twice"
        );
        self.bad(line, message)
    }

    /// The error of a row that is too long; `place`: where its next byte stands.
    fn too_long(&self, place: Place) -> Failure {
        const LONG: &str = "a row has more than 16 MiB";
        match place {
            Place::Quoted => {
                self.bad(self.opens, format!("{LONG} behind the quote that opens here and is not closed"))
            }
            _ => self.bad(self.begins, format!("{LONG}: is this a table, and is every quote closed?")),
        }
    }

    /// The line on which the row begins.
    pub fn line(&self) -> u64 {
        self.begins
    }

    /// The number of fields of the row.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field of the row, without the blanks around it.
    #[inline]
    pub fn field(&self, place: usize) -> &str {
        let begin = if place == 0 { 0 } else { self.ends[place - 1] + 1 };
        trimmed(&self.text[begin..self.ends[place]])
    }

    /// The fields of the row, without the blanks around them.
    pub fn fields(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len()).map(|place| self.field(place))
    }

    /// An error on a line.
    pub fn bad(&self, line: u64, message: impl std::fmt::Display) -> Failure {
        Failure::data(self.path, format!("line {line}: {message}"))
    }
}

/// How many bytes there are before the end of a line or a field in quotes, or in all, where a field without quotes goes
/// on; adds where it and those behind it end, counted on from a place.
#[inline]
fn plain(bytes: &[u8], separator: u8, place: usize, ends: &mut Vec<usize>) -> usize {
    // Most bytes are letters and digits, which stand above all that ends a field.
    let highest = separator.max(b'\r');
    for (i, &byte) in bytes.iter().enumerate() {
        if byte > highest {
            continue;
        }
        if byte == separator {
            ends.push(place + i);
            if bytes.get(i + 1) == Some(&b'"') {
                return i + 1;
            }
        } else if matches!(byte, b'\r' | b'\n') {
            return i;
        }
    }
    bytes.len()
}

/// A field without the blanks around it. Most are ASCII without blanks.
#[inline]
pub(super) fn trimmed(field: &str) -> &str {
    let blank = |byte: &u8| *byte <= b' ' || *byte >= 0x80;
    let bytes = field.as_bytes();
    if bytes.first().is_some_and(blank) || bytes.last().is_some_and(blank) { field.trim() } else { field }
}
