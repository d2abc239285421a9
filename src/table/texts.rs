//! Texts in one piece.

use std::ops::Range;

/// Texts behind each other: their bytes and four more each.
#[derive(Clone, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    /// The end of each, modulo 2^32.
    ends: Vec<u32>,
    /// The texts whose ends pass a multiple of 2^32.
    wraps: Vec<u32>,
}

impl Texts {
    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.wraps.clear();
    }

    /// Appends one.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        let before = self.bytes.len() >> 32;
        self.bytes.extend_from_slice(text);
        for _ in before..self.bytes.len() >> 32 {
            self.wraps.push(self.ends.len() as u32);
        }
        self.ends.push(self.bytes.len() as u32);
    }

    /// All bytes.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn end(&self, i: usize) -> usize {
        let end = self.ends[i] as usize;
        if self.wraps.is_empty() {
            return end;
        }
        end + (self.wraps.partition_point(|&w| w as usize <= i) << 32)
    }

    /// Where one stands among all bytes.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        if i == 0 { 0..self.end(0) } else { self.end(i - 1)..self.end(i) }
    }

    /// The bytes of one.
    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        &self.bytes[self.range(i)]
    }

    /// All of them; they are UTF-8.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| &self[i])
    }

    /// Keeps some, in this order.
    pub fn select(&mut self, which: &[u32]) {
        let mut kept = Self::default();
        which.iter().for_each(|&i| kept.push(self.bytes(i as usize)));
        *self = kept;
    }
}

/// A text that is known to be UTF-8.
impl std::ops::Index<usize> for Texts {
    type Output = str;
    #[inline]
    fn index(&self, i: usize) -> &str {
        std::str::from_utf8(self.bytes(i)).expect("whoever fills it checks it")
    }
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries((0..self.len()).map(|i| String::from_utf8_lossy(self.bytes(i)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends beyond 2^32 are told by where they pass it.
    #[test]
    fn ends_wrap() {
        let texts = Texts { bytes: Vec::new(), ends: vec![5, 3, 7, 1], wraps: vec![1, 3, 3] };
        let ends: Vec<usize> = (0..4).map(|i| texts.end(i)).collect();
        assert_eq!(ends, [5, (1 << 32) + 3, (1 << 32) + 7, (3 << 32) + 1]);
    }
}
