//! The layers below IP in a capture.

use etherparse::{EtherType, LaxSlicedPacket, VlanSlice};
use pcap_file::DataLink;

/// A packet from IP on.
pub(crate) struct Network<'a> {
    pub packet: LaxSlicedPacket<'a>,
    /// Priority code point of the outermost 802.1Q tag.
    pub pcp: Option<u8>,
    /// Distinguishes views of one interface: the interface index in a Linux-cooked capture of "any".
    pub interface: u32,
}

/// OpenBSD and others number raw IP like this.
const OTHER_RAW: [u32; 2] = [12, 14];
/// Header of a Linux-cooked capture, of its second version, and of BSD's loopback.
const SLL: usize = 16;
const SLL2: usize = 20;
const LOOPBACK: usize = 4;

/// Whether packets of this kind of link are read.
pub(crate) fn is_known(link: DataLink) -> bool {
    matches!(
        link,
        DataLink::ETHERNET
            | DataLink::LINUX_SLL
            | DataLink::LINUX_SLL2
            | DataLink::NULL
            | DataLink::LOOP
            | DataLink::RAW
            | DataLink::IPV4
            | DataLink::IPV6
    ) || OTHER_RAW.contains(&u32::from(link))
}

/// The packet in a frame; none if there is none.
pub(crate) fn network(link: DataLink, frame: &[u8]) -> Option<Network<'_>> {
    let mut interface = 0;
    let packet = match link {
        DataLink::ETHERNET => LaxSlicedPacket::from_ethernet(frame).ok()?,
        DataLink::LINUX_SLL => {
            let (header, rest) = frame.split_at_checked(SLL)?;
            // Sent by this machine or not: it forwards a packet that comes in and goes out.
            interface = u32::from(header[..2] == [0, 4]);
            LaxSlicedPacket::from_ether_type(ether_type(&header[14..]), rest)
        }
        DataLink::LINUX_SLL2 => {
            let (header, rest) = frame.split_at_checked(SLL2)?;
            interface = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            LaxSlicedPacket::from_ether_type(ether_type(header), rest)
        }
        // The family's number is the operating system's; the packet says which IP it is.
        DataLink::NULL | DataLink::LOOP => LaxSlicedPacket::from_ip(frame.get(LOOPBACK..)?).ok()?,
        _ => LaxSlicedPacket::from_ip(frame).ok()?,
    };
    let pcp = packet.vlan().map(|vlan| match vlan {
        VlanSlice::SingleVlan(tag) => tag.priority_code_point().value(),
        VlanSlice::DoubleVlan(tags) => tags.outer.priority_code_point().value(),
    });
    Some(Network {
        packet,
        pcp,
        interface,
    })
}

fn ether_type(bytes: &[u8]) -> EtherType {
    EtherType(u16::from_be_bytes([bytes[0], bytes[1]]))
}
