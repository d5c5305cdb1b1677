//! Quantized congestion notification: CN-TAG and congestion notification message (IEEE 802.1Q, clause
//! 33, formerly 802.1Qau).

use crate::bytes::{Writer, take, take_slice};
use crate::error::{Layer, Result, field};
use crate::ethernet::{EtherType, MacAddress};

/// CN-TAG (clause 33.3): which rate limiter of the source a frame left by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CnTag {
    /// The source's own number of the flow; a congestion notification message repeats it.
    pub flow: u16,
}

impl CnTag {
    /// Bytes of the tag.
    pub const LENGTH: usize = 4;

    /// Reads what follows the tag's EtherType; gives the type of what follows, and what follows.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, EtherType, &[u8])> {
        let (flow, rest) = take::<2>(Layer::Ethernet, bytes)?;
        let (next, rest) = take::<2>(Layer::Ethernet, rest)?;
        let tag = Self {
            flow: u16::from_be_bytes(*flow),
        };
        Ok((tag, EtherType(u16::from_be_bytes(*next)), rest))
    }

    /// Writes what follows the tag's EtherType.
    pub(crate) fn build(self, next: EtherType, out: &mut [u8]) -> Result<usize> {
        let mut writer = Writer::new(Layer::Ethernet, out);
        writer.put(&self.flow.to_be_bytes())?;
        writer.put(&next.0.to_be_bytes())?;
        Ok(writer.written())
    }
}

/// Congestion notification message (clause 33.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cnm<'a> {
    /// Quantised feedback, 0 to 63.
    pub feedback: u8,
    /// Congestion point identifier.
    pub congestion_point: u64,
    /// cnmQOffset in units of 64 octets: negative when the queue is too long.
    pub queue_offset: i16,
    /// cnmQDelta in units of 64 octets.
    pub queue_delta: i16,
    /// Priority of the frame that was sampled, 0 to 7.
    pub priority: u8,
    /// Destination of the frame that was sampled.
    pub destination: MacAddress,
    /// Beginning of what the sampled frame carried, at most 64 B.
    pub sampled: &'a [u8],
}

impl<'a> Cnm<'a> {
    const FIXED: usize = 24;
    const MAX_SAMPLED: usize = 64;

    /// Bytes after the EtherType.
    pub const fn length(&self) -> usize {
        Self::FIXED + self.sampled.len()
    }

    /// Reads what follows the EtherType; gives the padding.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let (header, rest) = take::<{ Cnm::FIXED }>(Layer::Cnm, bytes)?;
        let &[
            v,
            f,
            cpid @ ..,
            o0,
            o1,
            d0,
            d1,
            p0,
            p1,
            m0,
            m1,
            m2,
            m3,
            m4,
            m5,
            l0,
            l1,
        ] = header;
        if v >> 4 != 0 {
            return field(Layer::Cnm, "version", v >> 4);
        }
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if length > Self::MAX_SAMPLED {
            return field(Layer::Cnm, "encapsulated MSDU length", length as u64);
        }
        let (sampled, rest) = take_slice(Layer::Cnm, rest, length)?;
        let message = Self {
            feedback: f & 0x3f,
            congestion_point: u64::from_be_bytes(cpid),
            queue_offset: i16::from_be_bytes([o0, o1]),
            queue_delta: i16::from_be_bytes([d0, d1]),
            priority: (u16::from_be_bytes([p0, p1]) >> 13) as u8,
            destination: MacAddress([m0, m1, m2, m3, m4, m5]),
            sampled,
        };
        Ok((message, rest))
    }

    pub(crate) fn build(&self, out: &mut [u8]) -> Result<usize> {
        if self.feedback > 63 {
            return field(Layer::Cnm, "quantised feedback", self.feedback);
        }
        if self.priority > 7 {
            return field(Layer::Cnm, "encapsulated priority", self.priority);
        }
        let length = self.sampled.len();
        if length > Self::MAX_SAMPLED {
            return field(Layer::Cnm, "encapsulated MSDU length", length as u64);
        }
        let mut writer = Writer::new(Layer::Cnm, out);
        writer.put(&[0, self.feedback])?;
        writer.put(&self.congestion_point.to_be_bytes())?;
        writer.put(&self.queue_offset.to_be_bytes())?;
        writer.put(&self.queue_delta.to_be_bytes())?;
        writer.put(&(u16::from(self.priority) << 13).to_be_bytes())?;
        writer.put(&self.destination.0)?;
        writer.put(&(length as u16).to_be_bytes())?;
        writer.put(self.sampled)?;
        Ok(writer.written())
    }
}
