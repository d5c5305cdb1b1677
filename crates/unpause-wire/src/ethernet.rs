//! Ethernet II with at most one 802.1Q tag.

use core::fmt;

use crate::bytes::{Writer, take};
use crate::error::{Layer, Result, field};

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Where PAUSE and PFC frames go: 01-80-C2-00-00-01, which no bridge forwards (IEEE 802.3,
    /// Annex 31B).
    pub const MAC_CONTROL: Self = Self([0x01, 0x80, 0xc2, 0, 0, 0x01]);

    /// A locally administered unicast address that holds `number`.
    pub const fn local(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0, a, b, c, d])
    }

    /// The number of a [`MacAddress::local`]; none of any other address.
    pub const fn local_number(self) -> Option<u32> {
        match self.0 {
            [0x02, 0, a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        }
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// The EtherType: the protocol that an Ethernet frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// 802.1Q customer VLAN tag.
    pub const VLAN: Self = Self(0x8100);
    /// MAC control: PAUSE and PFC.
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// 802.1Qau congestion notification message.
    pub const CNM: Self = Self(0x22e7);
    /// 802.1Qau CN-TAG.
    pub const CN_TAG: Self = Self(0x22e9);
}

/// 802.1Q tag (clause 9.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible.
    pub drop_eligible: bool,
    /// VLAN identifier, 0 to 4095; 0 is a priority tag.
    pub vlan: u16,
}

impl VlanTag {
    fn from_bits(bits: u16) -> Self {
        Self {
            priority: (bits >> 13) as u8,
            drop_eligible: bits & 0x1000 != 0,
            vlan: bits & 0xfff,
        }
    }

    fn bits(self) -> Result<u16> {
        if self.priority > 7 {
            return field(Layer::Ethernet, "priority code point", self.priority);
        }
        if self.vlan > 0xfff {
            return field(Layer::Ethernet, "VLAN identifier", self.vlan);
        }
        Ok(u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.vlan)
    }
}

/// Ethernet II header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ethernet {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// 802.1Q tag, if it has one.
    pub tag: Option<VlanTag>,
}

impl Ethernet {
    /// Smallest frame without FCS, bytes.
    pub const MIN_FRAME: usize = 60;

    /// Reads the header; gives the type of what follows, and what follows.
    ///
    /// # Errors
    /// A truncated header, a second tag, or a length (802.3) where a type (Ethernet II) should be.
    pub fn parse(bytes: &[u8]) -> Result<(Self, EtherType, &[u8])> {
        let (destination, rest) = take::<6>(Layer::Ethernet, bytes)?;
        let (source, rest) = take::<6>(Layer::Ethernet, rest)?;
        let (kind, mut rest) = take::<2>(Layer::Ethernet, rest)?;
        let mut ether_type = EtherType(u16::from_be_bytes(*kind));
        let mut tag = None;
        if ether_type == EtherType::VLAN {
            let (bits, after) = take::<2>(Layer::Ethernet, rest)?;
            let (kind, after) = take::<2>(Layer::Ethernet, after)?;
            tag = Some(VlanTag::from_bits(u16::from_be_bytes(*bits)));
            ether_type = EtherType(u16::from_be_bytes(*kind));
            rest = after;
        }
        if ether_type.0 < 0x600 || ether_type == EtherType::VLAN {
            return field(Layer::Ethernet, "EtherType", ether_type.0);
        }
        let header = Self {
            destination: MacAddress(*destination),
            source: MacAddress(*source),
            tag,
        };
        Ok((header, ether_type, rest))
    }

    /// Bytes of the header.
    pub const fn length(&self) -> usize {
        if self.tag.is_some() { 18 } else { 14 }
    }

    /// Writes the header of what `ether_type` says at the beginning of `out`; gives its length.
    ///
    /// # Errors
    /// `out` is too small, or a field of the tag is too large.
    pub fn build(&self, ether_type: EtherType, out: &mut [u8]) -> Result<usize> {
        let mut writer = Writer::new(Layer::Ethernet, out);
        writer.put(&self.destination.0)?;
        writer.put(&self.source.0)?;
        if let Some(tag) = self.tag {
            writer.put(&EtherType::VLAN.0.to_be_bytes())?;
            writer.put(&tag.bits()?.to_be_bytes())?;
        }
        writer.put(&ether_type.0.to_be_bytes())?;
        Ok(writer.written())
    }
}

/// Frame check sequence of a frame without it, in the order in which it is sent (IEEE 802.3,
/// clause 3.2.9).
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    crc32fast::hash(frame).to_le_bytes()
}
