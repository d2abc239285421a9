//! What stands between the fields of a text: seen in its first rows.

/// What fields may stand between.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// What stands between fields, and whether the first row says so and is none of the table (`sep=;`, as Excel writes it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Separator {
    pub byte: u8,
    pub said: bool,
}

impl Separator {
    /// Sees it in the first bytes of a text; `whole`: they are all.
    ///
    /// It is the only one that the header has, outside quotes; of several the only one by which all rows have as many
    /// fields as the header; a comma if there is none. A tab beside another separator is a blank.
    ///
    /// Refused, in words: several by which they do.
    pub fn of(head: &[u8], whole: bool) -> Result<Self, String> {
        if let Some(rest) = head.strip_prefix(b"sep=")
            && let [byte, b'\r' | b'\n', ..] = rest
            && SEPARATORS.contains(byte)
        {
            return Ok(Self { byte: *byte, said: true });
        }
        let of = |byte| Ok(Self { byte, said: false });
        let found: Vec<u8> = SEPARATORS
            .into_iter()
            .filter(|&byte| Fields::new(head, byte).next().is_some_and(|row| row.fields > 1))
            .collect();
        let Some(&first) = found.first() else { return of(b',') };
        if found.len() == 1 {
            return of(first);
        }
        let alike: Vec<u8> = found.iter().copied().filter(|&byte| alike(head, whole, byte)).collect();
        match &alike[..] {
            [only] => of(*only),
            [] => of(first),
            [one, other, ..] => Err(format!(
                "`{}` and `{}` both divide all rows into columns: want one of them alone outside quotes",
                shown(*one),
                shown(*other)
            )),
        }
    }
}

/// A separator, for people.
pub(super) fn shown(byte: u8) -> &'static str {
    match byte {
        b';' => ";",
        b'\t' => "tab",
        b'|' => "|",
        _ => ",",
    }
}

/// Whether all rows have as many fields as the first, and there are several rows.
fn alike(head: &[u8], whole: bool, byte: u8) -> bool {
    let mut rows = Fields::new(head, byte).filter(|row| whole || row.ended);
    let Some(first) = rows.next() else { return false };
    let mut more = rows.peekable();
    more.peek().is_some() && more.all(|row| row.fields == first.fields)
}

/// One row.
struct Row {
    fields: usize,
    /// A line end stands behind it.
    ended: bool,
}

/// The rows of a text, if a byte separates its fields; those without anything are none.
struct Fields<'a> {
    text: &'a [u8],
    at: usize,
    byte: u8,
}

impl<'a> Fields<'a> {
    fn new(text: &'a [u8], byte: u8) -> Self {
        Self { text, at: 0, byte }
    }

    /// Whether the byte at a place separates: not a tab beside another separator.
    fn separates(&self, at: usize) -> bool {
        let other = |at: Option<usize>| {
            at.and_then(|at| self.text.get(at))
                .is_some_and(|byte| *byte != b'\t' && SEPARATORS.contains(byte))
        };
        self.text[at] == self.byte
            && (self.byte != b'\t' || !(other(at.checked_sub(1)) || other(Some(at + 1))))
    }
}

impl Iterator for Fields<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let ends = |byte: u8| matches!(byte, b'\r' | b'\n');
        self.at += self.text[self.at..].iter().take_while(|byte| ends(**byte)).count();
        if self.at == self.text.len() {
            return None;
        }
        let (mut fields, mut quoted, mut begins) = (1, false, true);
        while let Some(&byte) = self.text.get(self.at) {
            if !quoted && ends(byte) {
                return Some(Row { fields, ended: true });
            }
            let turns = byte == b'"' && (quoted || begins);
            quoted ^= turns;
            // A quote that is written twice closes, and opens again.
            begins = turns && !quoted;
            if !quoted && self.separates(self.at) {
                (fields, begins) = (fields + 1, true);
            }
            self.at += 1;
        }
        Some(Row { fields, ended: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_seen() {
        let of = |text: &str| Separator::of(text.as_bytes(), true).map(|separator| separator.byte);
        assert_eq!(of("a,b\n1,2\n"), Ok(b','));
        assert_eq!(of("a;b\n1;2,5\n"), Ok(b';'));
        assert_eq!(of("a\tb\n1\t2\n"), Ok(b'\t'));
        assert_eq!(of("a|b\n1|2\n"), Ok(b'|'));
        assert_eq!(of("a\n1\n"), Ok(b','));
        assert_eq!(of(""), Ok(b','));
        assert_eq!(of("\"a;c\",b\n1;3,2\n"), Ok(b','));
        assert_eq!(of("\"a\"\",\";b\n1;2\n"), Ok(b';'));
        // Both in the header: rows tell.
        assert_eq!(of("a;number, in all\nx;1\n"), Ok(b';'));
        assert_eq!(of("a,\tb,\tc\n1,\t2,\t3\n"), Ok(b','));
        assert_eq!(of("a;b,c\n1;2\n1,2\n"), Ok(b','));
        assert!(of("a;b,c\n1;2,3\n").unwrap_err().contains("`,` and `;` both divide"));
        // The last row may be cut.
        assert_eq!(Separator::of(b"a;b,c\n1,2\n1;", false).map(|separator| separator.byte), Ok(b','));
        assert_eq!(Separator::of(b"sep=;\r\na,b\n", true), Ok(Separator { byte: b';', said: true }));
    }
}
