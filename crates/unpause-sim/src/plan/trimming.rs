//! Requirements of switches that trim packets.

use unpause_protocols::loss_recovery::Config as Recovery;

use crate::config::invalid::{Invalid, bytes};
use crate::config::{Config, Cut, MIN_FRAME_BYTES, Queueing, SwitchModel};

const TRIMMING: &str = "switch.trimming";
const SIZE: &str = "switch.trimming.size";

/// Refuses what trimming cannot do.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    let Some(trimming) = &config.switch.trimming else {
        return Ok(());
    };
    if config.scheme.loss_recovery == Recovery::GoBackN {
        let message = "go-back-N cannot request a single packet";
        return Err(Invalid::new(TRIMMING, message)
            .label("switches trim packets")
            .and("scheme.loss_recovery", "go-back-N")
            .help("set loss_recovery = \"selective-repeat\" in the scheme, or remove the table"));
    }
    if config.switch.model != SwitchModel::SharedBuffer {
        let message = "only a switch with a shared buffer trims packets";
        return Err(Invalid::new(TRIMMING, message)
            .label("other switches drop packets for which they have no room")
            .and("switch.model", "of every switch")
            .help("remove the table, or choose model = \"shared-buffer\""));
    }
    let lossy = config.data_priorities() & !config.switch.lossless;
    if lossy == 0 {
        let message = "no packet can be trimmed: all flows have lossless priorities";
        return Err(Invalid::new(TRIMMING, message)
            .label("only lossy packets are trimmed")
            .and("switch.lossless", "PFC stops their senders")
            .help("set switch.lossless = [], or remove the table"));
    }
    if trimming.cut == Cut::Either && config.switch.queueing != Queueing::Fifo {
        let message = "only a FIFO has a newest packet";
        return Err(Invalid::new("switch.trimming.cut", message)
            .label("the newest packet of a queue, or the one that arrives")
            .and("switch.queueing", "no FIFO")
            .help("set cut = \"arriving\""));
    }
    if config.data_priorities() >> config.host.control_priority & 1 == 1 {
        let message = "trimmed packets and flows share a priority";
        return Err(Invalid::new("host.control_priority", message)
            .label("trimmed packets have this priority, and some flows do")
            .and(TRIMMING, "switches trim packets")
            .help("give the flows another priority"));
    }
    check_sizes(config, trimming.bytes.into(), trimming.control_queue_bytes)
}

fn check_sizes(config: &Config, size: u32, queue: u64) -> Result<(), Invalid> {
    let host = &config.host;
    let least = MIN_FRAME_BYTES.max(host.header_bytes);
    let frame = host.payload_bytes + host.header_bytes;
    if size < least {
        let message = format!("nothing can be trimmed to {}", bytes(size.into()));
        return Err(Invalid::new(SIZE, message).label(format!(
            "at least {}: the headers, and the smallest frame of Ethernet",
            bytes(least.into())
        )));
    }
    if size >= frame {
        let message = format!("trimming to {} trims nothing", bytes(size.into()));
        return Err(
            Invalid::new(SIZE, message).label(format!("a data packet has {}", bytes(frame.into())))
        );
    }
    if queue < u64::from(size) {
        let message = "the control queue does not hold a trimmed packet";
        return Err(Invalid::new("switch.trimming.control_queue", message)
            .label(bytes(queue))
            .and(SIZE, bytes(size.into())));
    }
    Ok(())
}
