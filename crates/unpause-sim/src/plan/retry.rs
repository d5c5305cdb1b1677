//! Requirements of links with retry.

use unpause_protocols::units::Time;

use super::frames::smallest_on_wire;
use crate::config::invalid::{Invalid, bytes};
use crate::config::{Config, NicModel};

const FIELD: &str = "switch.retry";
const BUFFER: &str = "switch.retry.buffer_bytes";
const TIMER: &str = "switch.retry.replay_timer";

/// Frame numbers have 20 bits, and half of them may be outstanding.
const MOST_FRAMES: u64 = 1 << 19;

/// Refuses what links that send again cannot do, or not yet.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    let Some(retry) = &config.switch.retry else {
        return Ok(());
    };
    let refuse = |message: &str, field: &'static str, label: &str, help: &str| {
        let invalid = Invalid::new(FIELD, message).label("of every link");
        Err(invalid.and(field, label).help(help))
    };
    if config.switch.cut_through_bytes.is_some() {
        return refuse(
            "switches whose links have retry store and forward",
            "switch.cut_through_bytes",
            "they cut through",
            "remove `cut_through`, or `retry`",
        );
    }
    if config.host.nic == NicModel::Hpcc {
        return refuse(
            "a NIC like that of HPCC's simulator does not resend frames",
            "host.nic",
            "`\"hpcc\"`",
            "set nic = \"own\", or remove `retry`",
        );
    }
    if !config.events.links.is_empty() || !config.events.rates.is_empty() {
        return refuse(
            "links with retry can have errors, but no other events yet",
            "events",
            "a link fails, or changes its rate",
            "keep events of kind \"error-rate\" only, or remove `retry`",
        );
    }
    let framing = u64::from(config.fabric.framing_bytes);
    let largest = u64::from(config.largest_frame_bytes()) + framing;
    let most = MOST_FRAMES * smallest_on_wire(config);
    if let Some(buffer) = retry.buffer_bytes
        && !(largest..=most).contains(&u64::from(buffer))
    {
        let message = format!("cannot keep {} of frames", bytes(buffer.into()));
        return Err(Invalid::new(BUFFER, message).label(format!(
            "between {}, the largest frame on the wire, and {}: frame numbers have 20 bits",
            bytes(largest),
            bytes(most)
        )));
    }
    if retry.replay_timer == Some(Time::ZERO) {
        return Err(Invalid::zero(TIMER).label("a replay would follow at once"));
    }
    Ok(())
}
