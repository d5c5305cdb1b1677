//! UDP (RFC 768).

use crate::bytes::{Writer, take};
use crate::error::{Error, Layer, Result};

/// UDP header. RoCEv2 sends its checksum as zero (InfiniBand, Annex A17.4.5.2), and so does this
/// crate; one that is not zero is not checked, as the standard allows for RoCEv2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Udp {
    /// Source port: RoCEv2's entropy for ECMP.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl Udp {
    /// Bytes of the header.
    pub const LENGTH: usize = 8;

    /// Reads the header; gives its payload by the length that it states.
    ///
    /// # Errors
    /// Bytes end before the header or the length that it states.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let (header, rest) = take::<{ Self::LENGTH }>(Layer::Udp, bytes)?;
        let [s0, s1, d0, d1, l0, l1, _, _] = *header;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let payload = length.checked_sub(Self::LENGTH).and_then(|n| rest.get(..n));
        let payload = payload.ok_or(Error::Truncated {
            layer: Layer::Udp,
            needed: length.max(Self::LENGTH),
            found: bytes.len(),
        })?;
        let header = Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
        };
        Ok((header, payload))
    }

    /// Writes the header of `payload` bytes at the beginning of `out`; gives its length.
    ///
    /// # Errors
    /// `out` is too small, or a payload beyond 65,527 B.
    pub fn build(&self, payload: usize, out: &mut [u8]) -> Result<usize> {
        let total = payload + Self::LENGTH;
        let Ok(length) = u16::try_from(total) else {
            return crate::error::field(Layer::Udp, "length", total as u64);
        };
        let mut writer = Writer::new(Layer::Udp, out);
        writer.put(&self.source_port.to_be_bytes())?;
        writer.put(&self.destination_port.to_be_bytes())?;
        writer.put(&length.to_be_bytes())?;
        writer.put(&[0, 0])?;
        Ok(writer.written())
    }
}
