//! Records of a CSV file.

use std::io::Read;

/// Reads records by the crate `csv`: blanks around fields are none, all records are of one length and UTF-8.
pub(super) struct Records<R> {
    reader: csv::Reader<R>,
    record: csv::StringRecord,
}

/// One record.
pub(super) struct Record<'a> {
    record: &'a csv::StringRecord,
    /// The line on which it begins, as the reader knows it.
    pub line: u64,
}

impl<'a> Record<'a> {
    /// A field without the blanks around it.
    #[inline]
    pub fn field(&self, i: usize) -> &'a [u8] {
        let field = self.record[i].as_bytes();
        // Most fields are ASCII without blanks; the crate's own trimming copies every record.
        let blank = |byte: &u8| *byte <= b' ' || *byte >= 0x80;
        let bare = !field.first().is_some_and(blank) && !field.last().is_some_and(blank);
        if bare { field } else { self.record[i].trim().as_bytes() }
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        self.record.len()
    }
}

impl<R: Read> Records<R> {
    pub fn new(source: R) -> Self {
        let mut builder = csv::ReaderBuilder::new();
        let reader = builder.has_headers(false).buffer_capacity(1 << 18).from_reader(source);
        Self { reader, record: csv::StringRecord::new() }
    }

    /// The next record. Errors: what cannot be read, another number of fields than the first record has, what is not UTF-8.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, String> {
        if !self.reader.read_record(&mut self.record).map_err(|e| e.to_string())? {
            return Ok(None);
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        Ok(Some(Record { record: &self.record, line }))
    }
}
