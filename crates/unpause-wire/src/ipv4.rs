//! IPv4 without options (RFC 791), DSCP (RFC 2474) and ECN (RFC 3168).

use core::net::Ipv4Addr;

use crate::bytes::{Writer, fold, sum_words, take};
use crate::error::{Error, Layer, Result, field};

/// Differentiated services code point, 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// The code point `value`; none above 63.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }
    /// Class selector of an 802.1p priority (RFC 2474, section 4.2.2), which switches that trust DSCP
    /// map back to the priority by default. The three low bits of `priority` count.
    pub const fn class_selector(priority: u8) -> Self {
        Self((priority & 7) << 3)
    }
    /// 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }
    /// Its class: the three high bits.
    pub const fn class(self) -> u8 {
        self.0 >> 3
    }
}

/// Explicit congestion notification (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// 00: not capable; is not to be marked.
    #[default]
    NotEct,
    /// 01: capable.
    Ect1,
    /// 10: capable; what RoCEv2 and TCP send.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// The protocol number of an IPv4 packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
}

/// IPv4 header without options; fragments are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv4 {
    /// Code point.
    pub dscp: Dscp,
    /// Congestion notification.
    pub ecn: Ecn,
    /// Identification.
    pub identification: u16,
    /// Don't fragment: set by RoCEv2.
    pub dont_fragment: bool,
    /// Time to live.
    pub ttl: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

impl Ipv4 {
    /// Bytes of the header.
    pub const LENGTH: usize = 20;
    const DONT_FRAGMENT: u16 = 0x4000;

    /// Reads the header; gives the protocol of its payload, the payload by the length that it states,
    /// and what follows: Ethernet's padding.
    ///
    /// # Errors
    /// Truncated; another version; options; a fragment; a wrong checksum.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Protocol, &[u8], &[u8])> {
        let (header, rest) = take::<{ Self::LENGTH }>(Layer::Ipv4, bytes)?;
        let &[version, tos, l0, l1, i0, i1, f0, f1, ttl, protocol, ..] = header;
        if version != 0x45 {
            return field(Layer::Ipv4, "version and header length", version);
        }
        let checksum = u16::from_be_bytes([header[10], header[11]]);
        let expected = checksum_of(header);
        if checksum != expected {
            return Err(Error::Checksum {
                layer: Layer::Ipv4,
                found: checksum.into(),
                expected: expected.into(),
            });
        }
        let flags = u16::from_be_bytes([f0, f1]);
        if flags & !Self::DONT_FRAGMENT != 0 {
            return field(Layer::Ipv4, "flags and fragment offset", flags);
        }
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let split = length.checked_sub(Self::LENGTH);
        let split = split.and_then(|payload| rest.split_at_checked(payload));
        let (payload, padding) = split.ok_or(Error::Truncated {
            layer: Layer::Ipv4,
            needed: length.max(Self::LENGTH),
            found: bytes.len(),
        })?;
        let &[.., s0, s1, s2, s3, d0, d1, d2, d3] = header;
        let header = Self {
            dscp: Dscp(tos >> 2),
            ecn: Ecn::from_bits(tos),
            identification: u16::from_be_bytes([i0, i1]),
            dont_fragment: flags & Self::DONT_FRAGMENT != 0,
            ttl,
            source: Ipv4Addr::new(s0, s1, s2, s3),
            destination: Ipv4Addr::new(d0, d1, d2, d3),
        };
        Ok((header, Protocol(protocol), payload, padding))
    }

    /// Writes the header of `payload` bytes of `protocol` at the beginning of `out`; gives its length.
    ///
    /// # Errors
    /// `out` is too small, or a payload beyond 65,515 B.
    pub fn build(&self, protocol: Protocol, payload: usize, out: &mut [u8]) -> Result<usize> {
        let header = self.header(protocol, payload)?;
        let mut writer = Writer::new(Layer::Ipv4, out);
        writer.put(&header)?;
        Ok(writer.written())
    }

    fn header(&self, protocol: Protocol, payload: usize) -> Result<[u8; Self::LENGTH]> {
        let total = payload + Self::LENGTH;
        let Ok(length) = u16::try_from(total) else {
            return field(Layer::Ipv4, "total length", total as u64);
        };
        let flags = if self.dont_fragment {
            Self::DONT_FRAGMENT
        } else {
            0
        };
        let mut header = [0; Self::LENGTH];
        header[0] = 0x45;
        header[1] = self.dscp.0 << 2 | self.ecn as u8;
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&flags.to_be_bytes());
        header[8] = self.ttl;
        header[9] = protocol.0;
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        let checksum = checksum_of(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        Ok(header)
    }

    /// Sum of the pseudo-header that TCP's checksum covers (RFC 9293, section 3.1).
    pub(crate) fn pseudo_sum(&self, protocol: Protocol, length: usize) -> u64 {
        sum_words(&self.source.octets())
            + sum_words(&self.destination.octets())
            + u64::from(protocol.0)
            + length as u64
    }
}

/// Checksum of a header, whatever its field of it holds.
fn checksum_of(header: &[u8; Ipv4::LENGTH]) -> u16 {
    fold(sum_words(&header[..10]) + sum_words(&header[12..]))
}
