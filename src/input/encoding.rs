//! How the bytes of a text stand for characters: UTF-8, UTF-16 by its mark, or Windows-1252 where that is sure.

use crate::failure::{Failure, Result};
use std::fs::File;
use std::io::{Cursor, Error, ErrorKind, Read, Seek};
use std::path::Path;

/// What some programs write before a text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes that are looked at before a text is read.
const HEAD: u64 = 1 << 16;
/// Bytes that are taken at once.
const PIECE: usize = 1 << 16;

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-16 if it begins with its mark, else UTF-8.
    ByMark,
    /// Windows-1252, of which Latin-1 is a part.
    Windows,
}

/// A text in UTF-8, from anywhere.
pub(super) struct Text<'a> {
    /// Its first bytes, without a mark; all of them if it is short.
    pub head: Vec<u8>,
    /// Whether these are all.
    pub whole: bool,
    /// What follows them.
    pub rest: Box<dyn Read + 'a>,
    /// What the text is in the source.
    pub name: &'static str,
}

impl<'a> Text<'a> {
    /// What the source fails with is told where it failed.
    pub fn new(source: impl Read + 'a, encoding: Encoding) -> Self {
        let (mut rest, name) = unmarked(source, encoding);
        let (head, failed) = ahead(&mut rest, HEAD);
        let whole = (head.len() as u64) < HEAD && failed.is_none();
        let rest = if failed.is_some() { Box::new(Broken(failed)) } else { rest };
        Self { head, whole, rest, name }
    }
}

/// The first bytes of a source, and with what it failed.
fn ahead(source: &mut impl Read, bytes: u64) -> (Vec<u8>, Option<Error>) {
    let mut read = Vec::new();
    let failed = source.take(bytes).read_to_end(&mut read).err();
    (read, failed)
}

/// A source that has failed.
struct Broken(Option<Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A source as UTF-8 without its mark, and what it was.
fn unmarked<'a>(mut source: impl Read + 'a, encoding: Encoding) -> (Box<dyn Read + 'a>, &'static str) {
    if encoding == Encoding::Windows {
        return (Box::new(Decoded::new(source, windows)), "Windows-1252");
    }
    let (mark, failed) = ahead(&mut source, MARK.len() as u64);
    let after = |rest: &[u8]| Cursor::new(rest.to_vec()).chain(Broken(failed)).chain(source);
    match &mark[..] {
        [0xff, 0xfe, rest @ ..] => (Box::new(Decoded::new(after(rest), little)), "UTF-16"),
        [0xfe, 0xff, rest @ ..] => (Box::new(Decoded::new(after(rest), big)), "UTF-16"),
        rest => (Box::new(after(if rest == MARK { &[] } else { rest })), "UTF-8"),
    }
}

/// Writes the characters of some bytes as UTF-8, at the end of the source of all; returns how many bytes it took.
type Decode = fn(&[u8], bool, &mut Vec<u8>) -> usize;

/// A source whose characters are written as UTF-8.
struct Decoded<R> {
    source: R,
    decode: Decode,
    /// What was read and not taken yet.
    raw: Vec<u8>,
    text: Vec<u8>,
    /// How much of the text was handed over.
    given: usize,
}

impl<R> Decoded<R> {
    fn new(source: R, decode: Decode) -> Self {
        Self { source, decode, raw: Vec::new(), text: Vec::new(), given: 0 }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.text.len() && !place.is_empty() {
            let kept = self.raw.len();
            self.raw.resize(kept + PIECE, 0);
            let read = self.source.read(&mut self.raw[kept..]);
            self.raw.truncate(kept + read.as_ref().map_or(0, |read| *read));
            let end = read? == 0;
            self.given = 0;
            self.text.clear();
            let taken = (self.decode)(&self.raw, end, &mut self.text);
            self.raw.drain(..taken);
            if end {
                break;
            }
        }
        let given = (&self.text[self.given..]).read(place)?;
        self.given += given;
        Ok(given)
    }
}

/// UTF-16, the lower byte of each unit first.
fn little(bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
    sixteen(bytes, end, out, u16::from_le_bytes)
}

/// UTF-16, the higher byte of each unit first.
fn big(bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
    sixteen(bytes, end, out, u16::from_be_bytes)
}

/// UTF-16. What is no character becomes a byte that UTF-8 has not, so that the row is refused.
fn sixteen(bytes: &[u8], end: bool, out: &mut Vec<u8>, unit: fn([u8; 2]) -> u16) -> usize {
    let units = bytes.chunks_exact(2).map(|two| unit([two[0], two[1]]));
    let mut taken = bytes.len() - bytes.len() % 2;
    // The first half of a pair waits for the second.
    let waits = units.clone().next_back().is_some_and(|last| (0xd800..0xdc00).contains(&last));
    if waits && !end {
        taken -= 2;
    }
    for character in char::decode_utf16(units.take(taken / 2)) {
        match character {
            Ok(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(_) => out.push(0xff),
        }
    }
    if end && taken < bytes.len() {
        out.push(0xff);
        return bytes.len();
    }
    taken
}

/// By byte from 0x80 to 0x9f, what Windows-1252 has there; 0 where it has nothing.
const HIGH: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a,
    0x0153, 0, 0x017e, 0x0178,
];

/// Windows-1252.
fn windows(bytes: &[u8], _: bool, out: &mut Vec<u8>) -> usize {
    for &byte in bytes {
        let code = match byte {
            0x80..0xa0 => u32::from(HIGH[usize::from(byte - 0x80)]),
            _ => u32::from(byte),
        };
        match char::from_u32(code).filter(|_| code > 0 || byte == 0) {
            Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(0xff),
        }
    }
    bytes.len()
}

/// Reads a file by `read` as UTF-8 or UTF-16. Where that fails and it is not UTF-8, reads it from Windows-1252.
///
/// Refused: bytes that are not UTF-8, and not surely Windows-1252, with the line; what `read` refuses. Errors: the file.
pub(super) fn either<'a, T>(
    path: &Path,
    file: &'a File,
    read: impl Fn(&'a File, Encoding) -> Result<T>,
) -> Result<T> {
    let failure = match read(file, Encoding::ByMark) {
        Err(failure @ Failure::Data { .. }) => failure,
        done => return done,
    };
    let rewind = || (&mut &*file).rewind().map_err(|e| Failure::data(path, e.to_string()));
    rewind()?;
    match seen(file).map_err(|e| Failure::data(path, e.to_string()))? {
        Seen::Utf8 => Err(failure),
        Seen::Windows => {
            rewind()?;
            read(file, Encoding::Windows)
        }
        Seen::Unsure(line, bytes) => {
            let shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Err(Failure::data(
                path,
                format!(
                    "line {line}: the bytes `{}` are not UTF-8, and not surely Windows-1252 (Latin-1): want UTF-8 \
                     (`iconv --from-code=ENCODING --to-code=UTF-8`)",
                    shown.join(" ")
                ),
            ))
        }
    }
}

/// What the bytes of a whole text may be.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// UTF-8, UTF-16 by its mark, or no text.
    Utf8,
    Windows,
    /// Neither, surely: a line, and bytes on it.
    Unsure(u64, Vec<u8>),
}

/// Looks at all bytes. They are Windows-1252 if each of them above 0x7f is a letter of Western languages or a sign that
/// texts in them have, and no three of them stand together: alphabets of other scripts, and UTF-8 that was cut, have
/// long runs. Errors: the source.
fn seen(mut source: impl Read) -> std::io::Result<Seen> {
    let (mut utf8, mut doubt, mut line) = (true, None, 1u64);
    // The bytes above 0x7f that came last, with the byte before them.
    let (mut before, mut run, mut last) = (b' ', Vec::new(), 0u8);
    let (mut piece, mut carry, mut first) = (vec![0; PIECE], Vec::new(), true);
    loop {
        let read = match source.read(&mut piece) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let bytes = &piece[..read];
        // No text has zeros.
        if bytes.contains(&0) {
            return Ok(Seen::Utf8);
        }
        if std::mem::take(&mut first)
            && (bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]))
        {
            return Ok(Seen::Utf8);
        }
        carry.extend_from_slice(bytes);
        match std::str::from_utf8(&carry) {
            Ok(_) => carry.clear(),
            // A character may go on in the next piece.
            Err(e) if e.error_len().is_none() && read > 0 => drop(carry.drain(..e.valid_up_to())),
            Err(_) => {
                utf8 = false;
                carry.clear();
            }
        }
        for &byte in bytes.iter().chain((read == 0).then_some(&b'\n')) {
            if byte >= 0x80 {
                run.push(byte);
                run.truncate(8);
                continue;
            }
            if !run.is_empty() && doubt.is_none() && !western(before, &run, byte) {
                doubt = Some((line, run.clone()));
            }
            run.clear();
            line += u64::from(byte == b'\r' || (byte == b'\n' && last != b'\r'));
            (before, last) = (byte, byte);
        }
        if read == 0 {
            return Ok(match doubt {
                _ if utf8 => Seen::Utf8,
                None => Seen::Windows,
                Some((line, bytes)) => Seen::Unsure(line, bytes),
            });
        }
    }
}

/// Whether bytes above 0x7f between two others stand for what Western languages have there.
fn western(before: u8, run: &[u8], after: u8) -> bool {
    let beside_letters = before.is_ascii_alphabetic() && after.is_ascii_alphabetic();
    run.len() <= 2
        && run.iter().all(|byte| match byte {
            0xd7 | 0xf7 => false,
            0xc0.. => true,
            // An apostrophe.
            0x92 => true,
            // The euro, dashes and quotes stand for letters in other encodings.
            0x80 | 0x84 | 0x91 | 0x93 | 0x94 | 0x96 | 0x97 => !beside_letters,
            // A blank that keeps lines together, the paragraph, ordinals, degrees, powers, the middle dot.
            0xa0 | 0xa7 | 0xaa | 0xb0 | 0xb2 | 0xb3 | 0xb7 | 0xba => true,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], encoding: Encoding) -> (Vec<u8>, &'static str) {
        let mut text = Text::new(bytes, encoding);
        text.rest.read_to_end(&mut text.head).unwrap();
        (text.head, text.name)
    }

    /// Texts of all lengths around the pieces by which they are read, with characters of one to four bytes.
    #[test]
    fn utf_16_is_read_by_its_mark() {
        for length in [0, 1, 5, PIECE / 8, PIECE / 4 - 1, PIECE / 4, PIECE / 4 + 1, PIECE] {
            let text: String = (0..length).map(|i| ['a', 'é', '€', '𝄞'][i % 4]).collect();
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for (mark, bytes) in [([0xff, 0xfe], little), ([0xfe, 0xff], big)] {
                let whole = [&mark[..], &bytes].concat();
                assert!(read(&whole, Encoding::ByMark) == (text.clone().into_bytes(), "UTF-16"), "{length}");
            }
        }
        // Half a character, and half of a pair.
        assert_eq!(read(b"\xff\xfea\0b", Encoding::ByMark).0, b"a\xff");
        assert_eq!(read(b"\xff\xfe\0\xd8", Encoding::ByMark).0, b"\xff");
        assert_eq!(read(b"\xff\xfe\0\xd8a\0", Encoding::ByMark).0, b"\xffa");
    }

    /// By the table of the standard's mapping: what a conversion by `iconv -f WINDOWS-1252` gives.
    #[test]
    fn windows_1252_is_read() {
        let text = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ";
        let bytes: Vec<u8> =
            (0x80..0xa0u8).filter(|byte| ![0x81, 0x8d, 0x8f, 0x90, 0x9d].contains(byte)).collect();
        assert_eq!(read(&bytes, Encoding::Windows), (text.as_bytes().to_vec(), "Windows-1252"));
        let latin: Vec<u8> = (0xa0..=0xffu8).collect();
        let text: String = latin.iter().map(|&byte| char::from(byte)).collect();
        assert_eq!(read(&latin, Encoding::Windows).0, text.as_bytes());
        assert_eq!(read(b"a\x81", Encoding::Windows).0, b"a\xff");
    }

    #[test]
    fn what_texts_are_is_seen() {
        let of = |bytes: &[u8]| seen(bytes).unwrap();
        assert_eq!(of("Zürich, Český".as_bytes()), Seen::Utf8);
        assert_eq!(of(b"\xff\xfeZ\0\xfc\0"), Seen::Utf8);
        assert_eq!(of(b"Z\xfcrich\nGen\xe8ve\nl\x92\xc9t\xe9 cr\xe9\xe9e\n"), Seen::Windows);
        // Cyrillic of Windows-1251, an umlaut of MS-DOS, UTF-8 that was cut, Czech of Windows-1250.
        assert_eq!(
            of(b"a\r\nb\r\n\xcc\xee\xf1\xea\xe2\xe0\n"),
            Seen::Unsure(3, b"\xcc\xee\xf1\xea\xe2\xe0".to_vec())
        );
        assert_eq!(of(b"K\x94ln\n"), Seen::Unsure(1, vec![0x94]));
        assert_eq!(of(b"Z\xc3\xbcrich \xc3"), Seen::Unsure(1, vec![0xc3, 0xbc]));
        assert_eq!(of(b"\xc8esk\xfd T\xec\x9a\xedn"), Seen::Unsure(1, vec![0xec, 0x9a, 0xed]));
        // Across pieces.
        let long = [vec![b'a'; PIECE - 1], "é".into()].concat();
        assert_eq!(of(&long), Seen::Utf8);
    }
}
