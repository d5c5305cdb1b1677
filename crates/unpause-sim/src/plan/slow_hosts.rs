//! Hosts that send PAUSE: slow receivers, and NICs with PAUSE storms.

use crate::config::invalid::{Invalid, Subject, bytes};
use crate::config::{Config, NodeId, NodeKind, PortId};

/// Refuses what they cannot be.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    check_slow_receiver(config)?;
    check_storms(config, links_of)
}

/// Why a host, or a link of it, has no receive buffer.
const NO_NIC: &str = "has no NIC there, only a link to an NVSwitch";

/// True if these links of a host, all or one, lead to NVSwitches only.
fn has_no_nic(config: &Config, host: NodeId, nic: Option<PortId>) -> bool {
    let fabric = &config.fabric;
    let links = fabric.links.iter();
    let peers = links.filter_map(|link| match host {
        it if it == link.a => Some(link.b),
        it if it == link.b => Some(link.a),
        _ => None,
    });
    let of_nic = |number: usize| nic.is_none_or(|it| usize::from(it) == number);
    let mut peers = peers.enumerate().filter(|(number, _)| of_nic(*number));
    peers.all(|(_, peer)| fabric.is_nvswitch(peer))
}

/// Slow receivers are hosts, slow for some time, and their thresholds are in order.
fn check_slow_receiver(config: &Config) -> Result<(), Invalid> {
    let Some(slow) = &config.host.slow_receiver else {
        return Ok(());
    };
    for host in &slow.hosts {
        if config.fabric.nodes.get(*host as usize) != Some(&NodeKind::Host) {
            let invalid = Invalid::new("slow_receiver.hosts", "is no host");
            return Err(invalid.of(Subject::Host(*host)));
        }
        if has_no_nic(config, *host, None) {
            let invalid = Invalid::new("slow_receiver.hosts", NO_NIC);
            return Err(invalid.of(Subject::Host(*host)));
        }
    }
    if slow.start >= slow.stop {
        let invalid = Invalid::new("slow_receiver.stop", "`stop` is not after `start`");
        return Err(invalid.label("slow for no time"));
    }
    let xoff = ("slow_receiver.xoff_bytes", slow.xoff_bytes);
    let xon = ("slow_receiver.xon_bytes", slow.xon_bytes);
    if xon.1 > xoff.1 {
        return Err(Invalid::above(xon, xoff));
    }
    let Some(buffer) = slow.buffer_bytes else {
        return Ok(());
    };
    let field = ("slow_receiver.buffer_bytes", buffer);
    if buffer < u64::from(config.largest_frame_bytes()) {
        let invalid = Invalid::new(field.0, "`buffer` does not hold a frame");
        return Err(invalid.label(bytes(buffer)));
    }
    if xoff.1 >= buffer {
        return Err(Invalid::above(xoff, field));
    }
    Ok(())
}

/// PAUSE storms are of NICs that there are, for some time, where something obeys PAUSE.
fn check_storms(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    const FIELD: &str = "events.storms";
    for storm in &config.events.storms {
        let of_host =
            |message: &str| Err(Invalid::new(FIELD, message).of(Subject::Host(storm.host)));
        if config.fabric.nodes.get(storm.host as usize) != Some(&NodeKind::Host) {
            return of_host("is no host");
        }
        let links = links_of[storm.host as usize];
        if let Some(nic) = storm.nic.filter(|nic| u32::from(*nic) >= links) {
            return of_host(&format!("has no NIC {nic}, but {links} from 0 on"));
        }
        if has_no_nic(config, storm.host, storm.nic) {
            return of_host(NO_NIC);
        }
        let slow = config.host.slow_receiver.as_ref();
        if slow.is_some_and(|slow| slow.hosts.contains(&storm.host)) {
            return of_host("is a slow receiver, which sends PAUSE when its buffer is full");
        }
        if storm.start >= storm.stop {
            return of_host("has a PAUSE storm that ends before it begins");
        }
        if config.switch.lossless == 0 || config.switch.cbfc.is_some() {
            return Err(Invalid::new(FIELD, "PAUSE has no effect")
                .label("no priority is lossless by PFC")
                .help("set lossless = [3] and flow_control = \"pfc\", or remove the event"));
        }
    }
    Ok(())
}
