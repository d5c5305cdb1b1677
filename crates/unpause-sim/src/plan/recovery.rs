//! Requirements of loss recovery.

use unpause_protocols::congestion_control;
use unpause_protocols::loss_recovery::{Config as Recovery, selective_repeat};
use unpause_protocols::units::{Rate, Time};

use crate::config::invalid::{Invalid, bytes};
use crate::config::{Config, NicModel};
use crate::fabric::NodeKind;
use crate::traffic::Transport;

/// Packets in the largest window of selective repeat: an ACK says in 16 bits how far a packet is ahead of one missing.
pub const MOST_PACKETS: u32 = u16::MAX as u32;

/// Windows of line rate times base RTT that selective repeat has under NSCC or credits, unless its window is written: theirs
/// are up to 1.5 of what a path holds, and count what is in flight, not what lies between the first packet missing and the last.
const UET_WINDOWS: u64 = 4;

/// Packets in the window of selective repeat at a sender whose fastest link has this rate.
pub fn window_packets(params: &selective_repeat::Params, rate: Rate, config: &Config) -> u64 {
    let packets = params.window_packets(rate, config.host.payload_bytes);
    let is_nscc = matches!(config.scheme.roce, congestion_control::Config::Nscc(_));
    let is_uet = is_nscc || config.scheme.credits.is_some();
    if is_uet && params.window.is_none() {
        packets.saturating_mul(UET_WINDOWS)
    } else {
        packets
    }
}

const KEY: &str = "scheme.loss_recovery";

/// Refuses UDP where it cannot be, and what selective repeat cannot do.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    if config.host.nic == NicModel::Hpcc && config.uses(Transport::Udp) {
        let message = "HPCC's NIC sends no UDP";
        return Err(Invalid::new("host.nic", message)
            .label("this NIC")
            .and("traffic", "some flows are UDP")
            .help("remove `nic`, or set transport = \"roce\""));
    }
    let Recovery::SelectiveRepeat(params) = &config.scheme.loss_recovery else {
        return Ok(());
    };
    if config.host.nic == NicModel::Hpcc {
        let message = "HPCC's NIC supports only go-back-N";
        return Err(Invalid::new(KEY, message)
            .label("it has no other loss recovery")
            .and("host.nic", "this NIC")
            .help("remove `nic`, or set loss_recovery = \"go-back-n\""));
    }
    for (field, time) in [
        ("scheme.selective-repeat.rto_low", params.rto_low),
        ("scheme.selective-repeat.rto_high", params.rto_high),
    ] {
        if time == Time::ZERO {
            return Err(Invalid::zero(field).label("must be above zero"));
        }
    }
    check_window(params, config)
}

fn check_window(params: &selective_repeat::Params, config: &Config) -> Result<(), Invalid> {
    let nodes = &config.fabric.nodes;
    let is_host = |node: u32| nodes.get(node as usize) == Some(&NodeKind::Host);
    let links = config.fabric.links.iter();
    let links = links.filter(|link| is_host(link.a) || is_host(link.b));
    let fastest = links.map(|link| link.rate).max().unwrap_or(Rate::ZERO);
    let payload = config.host.payload_bytes;
    let packets = window_packets(params, fastest, config);
    if packets <= u64::from(MOST_PACKETS) {
        return Ok(());
    }
    let message = format!("a window of {packets} packets is too large");
    let invalid = Invalid::new("scheme.selective-repeat.window", message);
    let most = u64::from(MOST_PACKETS) * u64::from(payload);
    Err(invalid
        .label(format!("at most {MOST_PACKETS}: {}", bytes(most)))
        .help(format!(
            "a packet carries {} of payload",
            bytes(payload.into())
        )))
}
