//! Requirements of links with credits.

use unpause_protocols::flow_control::credits::cbfc;
use unpause_protocols::flow_control::credits::{self, Settings as _};

use crate::config::invalid::{Invalid, bytes};
use crate::config::{AckPriority, Config, NicModel, SwitchModel};
use crate::traffic::Transport;

const FIELD: &str = "switch.cbfc";
const BUFFER: &str = "switch.cbfc.credit_buffer";
const SIZE: &str = "switch.cbfc.credit_size";
const SPACING: &str = "switch.cbfc.update_spacing";

/// The least distance of updates that Ultra Ethernet has.
const LEAST_SPACING: u32 = 800;
/// And the largest.
const MOST_SPACING: u32 = 262_144;

/// Refuses what credits cannot do, or not yet.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    let Some(credits) = &config.switch.cbfc else {
        return Ok(());
    };
    if config.switch.lossless == 0 {
        let message = "no priority has credits: none is lossless";
        return Err(Invalid::new(FIELD, message)
            .label("only lossless priorities have them")
            .and("switch.lossless", "empty")
            .help("set lossless = [3], or flow_control = \"pfc\""));
    }
    check_switches(config)?;
    check_hosts(config)?;
    if config.probes.causes {
        let message = "causes need PAUSE, and none is sent";
        return Err(Invalid::new("probes.causes", message)
            .and(FIELD, "links have credits")
            .help("remove `causes`, or set flow_control = \"pfc\""));
    }
    let events = &config.events;
    let fails = !events.links.is_empty();
    let loses = !events.errors.is_empty() && config.switch.retry.is_none();
    if fails || loses {
        let message = "the credits of frames that a link loses are not restored yet";
        let help = if fails {
            "remove the events, or set flow_control = \"pfc\""
        } else {
            "add retry = \"llr\", which loses none to errors, or set flow_control = \"pfc\""
        };
        return Err(Invalid::new(FIELD, message)
            .label("links must not fail or have errors")
            .and("events", "links change")
            .help(help));
    }
    match &credits.params {
        credits::Config::Cbfc(params) => check_parameters(params)?,
    }
    check_buffer(config, &credits.params, credits.buffer_bytes)
}

fn check_switches(config: &Config) -> Result<(), Invalid> {
    let switch = &config.switch;
    let refuse = |message: &str, field: &'static str, label: &str, help: &str| {
        let invalid = Invalid::new(FIELD, message).label("of every link");
        Err(invalid.and(field, label).help(help))
    };
    if switch.model != SwitchModel::SharedBuffer {
        return refuse(
            "only switches with a shared buffer have credits",
            "switch.model",
            "of every switch",
            "choose model = \"shared-buffer\", or flow_control = \"pfc\"",
        );
    }
    if !config.fabric.nvswitches.is_empty() {
        return refuse(
            "NVSwitches do not stop senders and give no credits",
            "fabric.nvswitches",
            "this fabric has NVSwitches",
            "set flow_control = \"pfc\"",
        );
    }
    if switch.cut_through_bytes.is_some() {
        return refuse(
            "switches with credits store and forward",
            "switch.cut_through_bytes",
            "they cut through",
            "remove `cut_through`, or set flow_control = \"pfc\"",
        );
    }
    if switch.watchdog.is_some() {
        return refuse(
            "a PFC watchdog finds nothing where no PAUSE is sent",
            "switch.watchdog",
            "it looks for PAUSE",
            "remove the table, or set flow_control = \"pfc\"",
        );
    }
    Ok(())
}

fn check_hosts(config: &Config) -> Result<(), Invalid> {
    let host = &config.host;
    let refuse = |message: &str, field: &'static str, label: &str, help: &str| {
        let invalid = Invalid::new(FIELD, message).label("of every link");
        Err(invalid.and(field, label).help(help))
    };
    if config.uses(Transport::Tcp) {
        return refuse(
            "TCP flows have no credits",
            "traffic",
            "some flows are of TCP",
            "set transport = \"roce\", or flow_control = \"pfc\"",
        );
    }
    if host.ack_priority == AckPriority::Flow {
        return refuse(
            "ACKs in the priority of their flow have no credits",
            "host.ack_priority",
            "ACKs would need them",
            "set ack_priority = \"control\", or flow_control = \"pfc\"",
        );
    }
    if host.nic == NicModel::Hpcc {
        return refuse(
            "a NIC like that of HPCC's simulator knows PFC only",
            "host.nic",
            "`\"hpcc\"`",
            "set nic = \"own\", or flow_control = \"pfc\"",
        );
    }
    if host.slow_receiver.is_some() {
        return refuse(
            "a slow receiver sends PAUSE",
            "host.slow_receiver",
            "some hosts are slow",
            "remove the table, or set flow_control = \"pfc\"",
        );
    }
    Ok(())
}

fn check_parameters(params: &cbfc::Params) -> Result<(), Invalid> {
    if params.credit_bytes == 0 {
        return Err(Invalid::zero(SIZE).label("a credit stands for some bytes"));
    }
    if !(LEAST_SPACING..=MOST_SPACING).contains(&params.update_spacing_bytes)
        && params.update_spacing_bytes != 0
    {
        let message = format!(
            "updates cannot be {} apart",
            bytes(params.update_spacing_bytes.into())
        );
        return Err(Invalid::new(SPACING, message).label(format!(
            "0, or between {} and {}",
            bytes(LEAST_SPACING.into()),
            bytes(MOST_SPACING.into())
        )));
    }
    Ok(())
}

fn check_buffer(
    config: &Config,
    params: &credits::Config,
    buffer: Option<u64>,
) -> Result<(), Invalid> {
    let Some(buffer) = buffer else {
        return Ok(());
    };
    let least = params.taken(config.largest_frame_bytes());
    let most = params.counted(u64::MAX);
    if buffer < least {
        let message = format!("no frame of {} could ever start", bytes(least));
        return Err(Invalid::new(BUFFER, message).label(format!(
            "at least {}: the largest frame in whole credits",
            bytes(least)
        )));
    }
    if buffer > most {
        let message = format!("credits cannot count a buffer of {}", bytes(buffer));
        return Err(Invalid::new(BUFFER, message).label(format!("at most {}", bytes(most))));
    }
    Ok(())
}
