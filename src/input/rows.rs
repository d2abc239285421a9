//! CSV, row by row: every reader of such files goes through here.
//!
//! Fields stand between commas. Rows end with a line feed, a carriage return or both; a line without anything is no
//! row. A field that begins with a quote ends with one, and holds what is between them: commas, line ends, and quotes
//! that are written twice. In other fields quotes are what they are. Blanks around fields are taken off.

use crate::failure::{Failure, Result};
use std::io::{BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

/// Bytes of a row at most, with what is read ahead: a file of zeros would be taken into memory as a single field.
const LONGEST: usize = 16 << 20;
/// Bytes that are read ahead.
const AHEAD: usize = 1 << 18;
/// What some programs write before a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A text that is read row by row, from anywhere.
pub(super) struct Rows<'a, R> {
    path: &'a Path,
    source: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    /// The fields of the row with commas between them, and where each ends.
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

impl<'a, R: Read> Rows<'a, R> {
    /// `path`: the name of the text in messages. Errors: the source.
    pub fn new(path: &'a Path, mut source: R) -> Result<Self> {
        let mut begin = Vec::new();
        let read = (&mut source).take(MARK.len() as u64).read_to_end(&mut begin);
        read.map_err(|e| Failure::data(path, e.to_string()))?;
        if begin == MARK {
            begin.clear();
        }
        let source = BufReader::with_capacity(AHEAD, Cursor::new(begin).chain(source));
        Ok(Self {
            path,
            source,
            text: String::new(),
            ends: Vec::new(),
            reached: 1,
            returned: false,
            begins: 1,
            opens: 1,
            first: None,
        })
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
            return Err(
                self.bad(self.begins, format!("it has {}, line {first} has {}", has(fields), has(wanted)))
            );
        }
        // With commas between them no character goes on in the next field.
        self.text = String::from_utf8(text).map_err(|_| self.bad(self.begins, "text that is not UTF-8"))?;
        Ok(true)
    }

    /// Reads the bytes of the next row, and where its fields end.
    fn fill(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        let mut place = Place::Before;
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
                    (_, b',') => {
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
                        let here = at - 1..at + plain(&bytes[at..], text.len() + 1, &mut self.ends);
                        at = here.end;
                        text.extend_from_slice(&bytes[here]);
                        if bytes[at - 1] == b',' { Place::Begin } else { Place::Plain }
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
            "text stands behind a closing quote, want a comma or the end of the line: the quotes \
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
fn plain(bytes: &[u8], place: usize, ends: &mut Vec<usize>) -> usize {
    for (i, &byte) in bytes.iter().enumerate() {
        // Most bytes are letters and digits, which stand above all that ends a field.
        if byte > b',' {
            continue;
        }
        match byte {
            b',' => {
                ends.push(place + i);
                if bytes.get(i + 1) == Some(&b'"') {
                    return i + 1;
                }
            }
            b'\r' | b'\n' => return i,
            _ => {}
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
