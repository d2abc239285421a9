//! Texts whose rows have an end.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

/// Bytes of a row at most, with what is read ahead.
const LONGEST: usize = 16 << 20;

/// A text that is read row by row: one in which a quote is not closed, or a file of zeros, would be taken into memory as a single field.
pub(super) struct Rows<R> {
    source: R,
    begun: Rc<Cell<usize>>,
}

impl<R: Read> Rows<R> {
    /// With the bytes that were read since the last row ended: who takes the rows sets them to zero.
    pub(super) fn new(source: R) -> (Self, Rc<Cell<usize>>) {
        let begun = Rc::new(Cell::new(0));
        (Self { source, begun: begun.clone() }, begun)
    }
}

/// Errors: as the source; a row of more than 16 MiB.
impl<R: Read> Read for Rows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.begun.set(self.begun.get() + read);
        if self.begun.get() > LONGEST {
            let message = "a row has more than 16 MiB: is this a table, and is every quote closed?";
            return Err(std::io::Error::other(message));
        }
        Ok(read)
    }
}
