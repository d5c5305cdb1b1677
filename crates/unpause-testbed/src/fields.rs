//! Single fields of a frame, and checks that they are those of its flow.

use unpause_capture::frames::ip_address;
use unpause_sim::config::NodeId;
use unpause_sim::exchange::{CE, ECT};
use unpause_wire::{Ecn, Ethernet, Ipv4, MacAddress};

use crate::refusal::Refusal;
use crate::trailer::Trailer;

/// Nodes are numbered from 1 in addresses.
pub fn number(node: NodeId) -> u32 {
    node + 1
}

/// A field is not that of the flow that the trailer names.
pub fn not_of_flow(trailer: &Trailer, what: &'static str) -> Refusal {
    Refusal::NotOfFlow {
        flow: trailer.flow,
        what,
    }
}

/// Bytes of a packet with this much payload, as the scenario counts them.
pub fn frame_bytes(payload: usize, header: u32, least: u32) -> Result<u16, Refusal> {
    let bytes = (payload as u32 + header).max(least);
    u16::try_from(bytes).map_err(|_| Refusal::Unexpected("length"))
}

/// Priority, which the DSCP says.
pub fn priority(ip: &Ipv4) -> Result<u8, Refusal> {
    match ip.dscp.value() & 7 {
        0 => Ok(ip.dscp.class()),
        _ => Err(Refusal::Unexpected("DSCP")),
    }
}

/// Flags of ECN.
pub fn ecn(ip: &Ipv4) -> Result<u8, Refusal> {
    match ip.ecn {
        Ecn::NotEct => Ok(0),
        Ecn::Ect0 => Ok(ECT),
        Ecn::Ce => Ok(ECT | CE),
        Ecn::Ect1 => Err(Refusal::Unexpected("ECT(1)")),
    }
}

/// Checks that a frame goes from `src` to `dst`.
pub fn stations(ethernet: &Ethernet, src: NodeId, dst: NodeId, flow: u32) -> Result<(), Refusal> {
    let (source, destination) = (number(src), number(dst));
    let ends = (MacAddress::local(source), MacAddress::local(destination));
    if (ethernet.source, ethernet.destination) == ends {
        Ok(())
    } else {
        Err(Refusal::NotOfFlow {
            flow,
            what: "MAC addresses",
        })
    }
}

/// The same, and that of IP.
pub fn addressed(
    ethernet: &Ethernet,
    ip: &Ipv4,
    (src, dst): (NodeId, NodeId),
    flow: u32,
) -> Result<(), Refusal> {
    stations(ethernet, src, dst, flow)?;
    let ends = (ip_address(number(src)), ip_address(number(dst)));
    if (ip.source, ip.destination) == ends {
        Ok(())
    } else {
        Err(Refusal::NotOfFlow {
            flow,
            what: "IP addresses",
        })
    }
}
