//! Reading and writing fields without reaching past a slice.

use crate::error::{Error, Layer, Result};

/// The first `N` bytes of a layer, and the rest.
pub(crate) fn take<const N: usize>(layer: Layer, bytes: &[u8]) -> Result<(&[u8; N], &[u8])> {
    bytes.split_first_chunk().ok_or(Error::Truncated {
        layer,
        needed: N,
        found: bytes.len(),
    })
}

/// The first `length` bytes of a layer, and the rest.
pub(crate) fn take_slice(layer: Layer, bytes: &[u8], length: usize) -> Result<(&[u8], &[u8])> {
    bytes.split_at_checked(length).ok_or(Error::Truncated {
        layer,
        needed: length,
        found: bytes.len(),
    })
}

/// Writes a layer from field to field; what does not fit is an error, and nothing is written past it.
pub(crate) struct Writer<'a> {
    layer: Layer,
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(layer: Layer, out: &'a mut [u8]) -> Self {
        Self { layer, out, at: 0 }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.at + bytes.len();
        let found = self.out.len();
        let place = self.out.get_mut(self.at..end).ok_or(Error::Truncated {
            layer: self.layer,
            needed: end,
            found,
        })?;
        place.copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }

    pub(crate) fn zeros(&mut self, count: usize) -> Result<()> {
        const ZEROS: [u8; 64] = [0; 64];
        let mut left = count;
        while left > 0 {
            let now = left.min(ZEROS.len());
            self.put(&ZEROS[..now])?;
            left -= now;
        }
        Ok(())
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> usize {
        self.at
    }
}

/// RFC 1071's sum of 16-bit words, to be folded by [`fold`].
pub(crate) fn sum_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|&word| u64::from(u16::from_be_bytes(word)));
    let odd = rest.first().map_or(0, |&byte| u64::from(byte) << 8);
    words.sum::<u64>() + odd
}

/// The Internet checksum of a sum of words.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Three bytes, big-endian.
pub(crate) fn be24(bytes: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]])
}

/// The low three bytes, big-endian.
pub(crate) fn to_be24(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}
