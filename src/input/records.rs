//! Records of a CSV file, as slices of a buffer.

use std::io::{ErrorKind, Read};

/// Bytes that are asked for at once; a longer record doubles it.
const BUFFER: usize = 1 << 18;

/// Reads records as the crate `csv` does by default, with its messages and its positions: commas, double quotes, lines
/// that end in `\n`, `\r` or both, blank lines skipped, a byte order mark skipped, all records of one length, UTF-8.
///
/// Most records are slices of the buffer; one with a quoted field is copied.
pub(super) struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    /// What is left: `buffer[at..end]`.
    at: usize,
    end: usize,
    /// Whether that is ASCII.
    ascii: bool,
    state: State,
    /// Of the next byte.
    byte: u64,
    line: u64,
    record: u64,
    /// Fields of the first record.
    width: Option<usize>,
    fields: Vec<(usize, usize)>,
    unquoted: Vec<u8>,
}

enum State {
    New,
    Open,
    Ended,
    Failed(std::io::Error),
}

/// One record.
pub(super) struct Record<'a> {
    bytes: &'a [u8],
    fields: &'a [(usize, usize)],
    /// The line where the one before ended.
    pub line: u64,
}

impl<'a> Record<'a> {
    /// A field without the blanks around it.
    #[inline]
    pub fn field(&self, i: usize) -> &'a [u8] {
        let (start, end) = self.fields[i];
        let field = &self.bytes[start..end];
        let blank = |b: &u8| *b <= b' ' || *b >= 0x80;
        if field.first().is_none_or(|b| !blank(b)) && field.last().is_none_or(|b| !blank(b)) {
            return field;
        }
        std::str::from_utf8(field).expect("it was checked").trim().as_bytes()
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }
}

impl<R: Read> Records<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            ascii: true,
            state: State::New,
            byte: 0,
            line: 1,
            record: 0,
            width: None,
            fields: Vec::new(),
            unquoted: Vec::new(),
        }
    }

    /// The next record. Errors: what cannot be read, another number of fields than the first record has, what is not UTF-8.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, String> {
        let (byte, line, record) = (self.byte, self.line, self.record);
        if !self.skip_blank_lines()? {
            return Ok(None);
        }
        let mut copied = false;
        let taken = loop {
            let text = &self.buffer[self.at..self.end];
            let last = matches!(self.state, State::Ended);
            let scanned = match copied {
                false => scan(text, last, &mut self.fields),
                true => unquote(text, last, &mut self.unquoted, &mut self.fields),
            };
            match scanned {
                Scan::Record(taken) => break taken,
                Scan::Quoted => copied = true,
                // Only if nothing came is what stands there the last record.
                Scan::More => drop(self.fill()?),
            }
        };
        let (start, end) = (self.at, self.at + taken);
        self.at = end;
        self.byte += taken as u64;
        self.record += 1;
        self.line += match copied {
            false => u64::from(self.buffer[end - 1] == b'\n'),
            true => self.buffer[start..end].iter().filter(|b| **b == b'\n').count() as u64,
        };
        let bytes = if copied { &self.unquoted[..] } else { &self.buffer[start..end] };
        let (first, width) = (self.width.is_none(), *self.width.get_or_insert(self.fields.len()));
        if self.fields.len() != width {
            return Err(format!(
                "CSV error: record {record} (line: {line}, byte: {byte}): found record with {} fields, but the previous \
                 record has {width} fields",
                self.fields.len()
            ));
        }
        if !self.ascii && !bytes.is_ascii() {
            for (i, &(start, end)) in self.fields.iter().enumerate() {
                let field = &bytes[start..end];
                if let Err(e) = std::str::from_utf8(if first { field } else { field.trim_ascii() }) {
                    return Err(format!(
                        "CSV parse error: record {record} (line {line}, field: {i}, byte: {byte}): invalid utf-8: \
                         invalid UTF-8 in field {i} near byte index {}",
                        e.valid_up_to()
                    ));
                }
            }
        }
        Ok(Some(Record { bytes, fields: &self.fields, line }))
    }

    /// Whether anything follows.
    #[inline]
    fn skip_blank_lines(&mut self) -> Result<bool, String> {
        loop {
            while self.at < self.end {
                match self.buffer[self.at] {
                    b'\n' => self.line += 1,
                    b'\r' => {}
                    _ => return Ok(true),
                }
                self.at += 1;
                self.byte += 1;
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Reads until the buffer is full; a buffer full of one record grows. Returns whether anything came.
    #[cold]
    fn fill(&mut self) -> Result<bool, String> {
        let new = matches!(self.state, State::New);
        if let State::Failed(e) = &self.state {
            return Err(e.to_string());
        }
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        let before = self.end;
        while self.end < self.buffer.len() && !matches!(self.state, State::Ended | State::Failed(_)) {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.state = State::Ended,
                Ok(read) => {
                    self.end += read;
                    self.state = State::Open;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => self.state = State::Failed(e),
            }
        }
        if let (State::Failed(e), true) = (&self.state, self.end == before) {
            return Err(e.to_string());
        }
        if new && self.buffer[..self.end].starts_with(b"\xef\xbb\xbf") {
            (self.at, self.byte) = (3, 3);
        }
        self.ascii = self.buffer[self.at..self.end].is_ascii();
        Ok(self.end > before)
    }
}

enum Scan {
    /// A whole record of so many bytes, its end included.
    Record(usize),
    /// A field begins with a quote.
    Quoted,
    /// The record goes on after the text.
    More,
}

/// Fields of a record without quotes. `last`: nothing follows the text.
#[inline]
fn scan(text: &[u8], last: bool, fields: &mut Vec<(usize, usize)>) -> Scan {
    fields.clear();
    let mut start = 0;
    let mut meet = |i: usize| match text[i] {
        b',' => {
            fields.push((start, i));
            start = i + 1;
            None
        }
        b'\n' | b'\r' => {
            fields.push((start, i));
            Some(Scan::Record(i + 1))
        }
        b'"' if i == start => Some(Scan::Quoted),
        _ => None,
    };
    let mut words = text.chunks_exact(8);
    for (word, at) in words.by_ref().zip((0..).step_by(8)) {
        let mut marks = marks(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        while marks != 0 {
            if let Some(scan) = meet(at + marks.trailing_zeros() as usize / 8) {
                return scan;
            }
            marks &= marks - 1;
        }
    }
    for i in text.len() - words.remainder().len()..text.len() {
        if let Some(scan) = meet(i) {
            return scan;
        }
    }
    if !last {
        return Scan::More;
    }
    fields.push((start, text.len()));
    Scan::Record(text.len())
}

/// The highest bit of every byte up to `,`: all that can mean something, and little else, is among these.
#[inline]
fn marks(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    !(((word | HIGH) - (b',' as u64 + 1) * ONES) | word) & HIGH
}

/// The same of any record, into `out`.
fn unquote(text: &[u8], last: bool, out: &mut Vec<u8>, fields: &mut Vec<(usize, usize)>) -> Scan {
    enum At {
        Start,
        Plain,
        Quoted,
        /// Behind a quote inside quotes: it ends them, or is the first of two that stand for one.
        Quote,
    }
    fields.clear();
    out.clear();
    let (mut at, mut start) = (At::Start, 0);
    for (i, &b) in text.iter().enumerate() {
        at = match (at, b) {
            (At::Start, b'"') => At::Quoted,
            (At::Quoted, b'"') => At::Quote,
            (At::Quoted, _) | (At::Quote, b'"') => {
                out.push(b);
                At::Quoted
            }
            (_, b',') => {
                fields.push((start, out.len()));
                start = out.len();
                At::Start
            }
            (_, b'\n' | b'\r') => {
                fields.push((start, out.len()));
                return Scan::Record(i + 1);
            }
            _ => {
                out.push(b);
                At::Plain
            }
        };
    }
    if !last {
        return Scan::More;
    }
    fields.push((start, out.len()));
    Scan::Record(text.len())
}
