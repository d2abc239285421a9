//! Random bits: the source, and whole numbers from it.

use crate::error::{Error, Result};
use dashu_int::UBig;
use zeroize::Zeroize;

/// A source of independent fair bits.
///
/// Real releases draw from [`System`]. Tests and experiments implement their own (seeded, recorded, all in turn), here as there: this one
/// repeats, and whoever knows its seed can subtract the noise. Of a generator of `rand` it is `Ok(rng.next_u32() >> (32 - count))`.
///
/// ```
/// use congenial_exact_noise::{Base, Bits, Law, Result, free};
///
/// /// Bits from a seed (splitmix64), never for a release.
/// struct Seeded(u64);
///
/// impl Bits for Seeded {
///     fn bits(&mut self, count: u32) -> Result<u32> {
///         self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
///         let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
///         let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
///         Ok(((x ^ (x >> 31)) >> (64 - count)) as u32)
///     }
/// }
///
/// let law = Law::DoubleGeometric(Base::from_loss(&"0.25".parse()?)?);
/// assert_eq!(free(law, 8, &mut Seeded(1))?, free(law, 8, &mut Seeded(1))?);
/// assert_ne!(free(law, 8, &mut Seeded(1))?, free(law, 8, &mut Seeded(2))?);
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
pub trait Bits {
    /// The next `count` bits, 1 to 32, as a number below `2^count`. After an error every call is an error.
    fn bits(&mut self, count: u32) -> Result<u32>;
}

/// Words of a block.
const BLOCK: usize = 1024;

/// The randomness of the operating system (`getrandom`), in blocks of 4 KiB that are wiped when they are used up and when the source is
/// dropped. There is no seed, and no generator in between.
///
/// A process that forks would draw the same rest of a block twice: fork first.
pub struct System(Blocks<Fill>);

/// Fills a block.
type Fill = fn(&mut [u8]) -> Result<()>;

impl System {
    /// Makes the source; nothing is read yet.
    pub fn new() -> Self {
        Self(Blocks::new(|block| getrandom::fill(block).map_err(|why| Error::Source(why.to_string()))))
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Bits for System {
    #[inline]
    fn bits(&mut self, count: u32) -> Result<u32> {
        self.0.bits(count)
    }
}

/// Bits from blocks of bytes.
struct Blocks<F> {
    fill: F,
    block: Box<[u8; 4 * BLOCK]>,
    /// Bytes of the block that were used.
    used: usize,
    /// Bits that were left of a word, in the low places.
    pool: u64,
    left: u32,
    failed: Option<Error>,
}

impl<F: FnMut(&mut [u8]) -> Result<()>> Blocks<F> {
    fn new(fill: F) -> Self {
        Self { fill, block: Box::new([0; 4 * BLOCK]), used: 4 * BLOCK, pool: 0, left: 0, failed: None }
    }

    #[inline]
    fn word(&mut self) -> Result<u32> {
        let next = self.used.saturating_add(4);
        if let Some(&[a, b, c, d]) = self.block.get(self.used..next) {
            self.used = next;
            return Ok(u32::from_le_bytes([a, b, c, d]));
        }
        self.next_block()
    }

    /// Wipes the block, fills it, and gives its first word.
    #[cold]
    fn next_block(&mut self) -> Result<u32> {
        self.block.as_mut_slice().zeroize();
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        if let Err(why) = (self.fill)(self.block.as_mut_slice()) {
            self.block.as_mut_slice().zeroize();
            self.failed = Some(why.clone());
            return Err(why);
        }
        self.used = 4;
        let [a, b, c, d, ..] = *self.block;
        Ok(u32::from_le_bytes([a, b, c, d]))
    }

    #[inline]
    fn bits(&mut self, count: u32) -> Result<u32> {
        if count == 32 {
            return self.word();
        }
        if self.left < count {
            // Fewer than 32 bits are left.
            self.pool |= u64::from(self.word()?).wrapping_shl(self.left);
            self.left = self.left.saturating_add(32);
        }
        let bits = self.pool as u32 & low_bits(count);
        self.pool = self.pool.wrapping_shr(count);
        self.left = self.left.saturating_sub(count);
        Ok(bits)
    }
}

impl<F> Drop for Blocks<F> {
    fn drop(&mut self) {
        self.block.as_mut_slice().zeroize();
        self.pool.zeroize();
    }
}

/// `2^count - 1` for 1 to 32.
#[inline]
fn low_bits(count: u32) -> u32 {
    u32::MAX.wrapping_shr(32u32.wrapping_sub(count))
}

/// The next 1 to 32 bits, of which a source may not give more.
#[inline]
pub(crate) fn few<B: Bits + ?Sized>(source: &mut B, count: u32) -> Result<u32> {
    Ok(source.bits(count)? & low_bits(count))
}

/// The next bits, 0 to 64.
pub(crate) fn some<B: Bits + ?Sized>(source: &mut B, count: u32) -> Result<u64> {
    let mut number = 0;
    let mut left = count;
    while left > 0 {
        let next = left.min(32);
        number = u64::wrapping_shl(number, next) | u64::from(few(source, next)?);
        left = left.saturating_sub(next);
    }
    Ok(number)
}

/// The next bits, any number of them.
pub(crate) fn many<B: Bits + ?Sized>(source: &mut B, count: usize) -> Result<UBig> {
    let mut number = UBig::ZERO;
    let mut left = count;
    while left > 0 {
        let next = left.min(32);
        number = (number << next) + UBig::from(few(source, next as u32)?);
        left = left.saturating_sub(next);
    }
    Ok(number)
}

/// A uniform number below `end`: as many bits as `end - 1` has, again until they are below it.
pub(crate) fn below<B: Bits + ?Sized>(source: &mut B, end: u64) -> Result<u64> {
    let last = end.checked_sub(1).ok_or(Error::Bug("a number below zero"))?;
    let count = 64u32.saturating_sub(last.leading_zeros());
    loop {
        let number = some(source, count)?;
        if number <= last {
            return Ok(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter in the place of the operating system, which fails at the third block.
    #[test]
    fn blocks_are_read_in_order_wiped_and_end_with_the_source() {
        let mut filled = 0u8;
        let mut source = Blocks::new(|block: &mut [u8]| {
            assert!(block.iter().all(|byte| *byte == 0), "not wiped");
            filled += 1;
            if filled == 3 {
                return Err(Error::Source("gone".into()));
            }
            block.fill(filled);
            Ok(())
        });
        for _ in 0..BLOCK - 1 {
            assert_eq!(source.bits(32), Ok(0x01010101));
        }
        // The last word of the block, in parts of 7, 16 and 9 bits.
        assert_eq!(source.bits(7), Ok(0x01));
        assert_eq!(source.bits(16), Ok(0x01010101 >> 7 & 0xffff));
        assert_eq!(source.bits(9), Ok(0x01010101 >> 23));
        for _ in 0..BLOCK {
            assert_eq!(source.bits(32), Ok(0x02020202));
        }
        for _ in 0..3 {
            assert_eq!(source.bits(1), Err(Error::Source("gone".into())));
            assert_eq!(source.bits(32), Err(Error::Source("gone".into())));
        }
        assert!(source.block.iter().all(|byte| *byte == 0));
        drop(source);
        assert_eq!(filled, 3);
    }
}
