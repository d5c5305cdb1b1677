//! `[switch.trimming]`: switches that cut the payload off packets instead of dropping them.

use unpause_sim::config::{Cut, Trimming as Config};
use unpause_text::quantity::Size;

use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

/// Bytes of a trimmed frame, unless others are said.
const SIZE: u16 = 128;

/// `[switch.trimming]`
#[derive(Keys)]
#[keys("switch.trimming")]
pub(crate) struct Trimming {
    /// size of a trimmed frame, at least its headers
    #[key(default = Size(u64::from(SIZE)), from = "SAI, `SAI_SWITCH_ATTR_PACKET_TRIM_SIZE`")]
    pub(crate) size: WithDefault<Size>,
    /// largest queue of the control priority at a port: trimmed packets wait there with ACKs; packets that exceed it are dropped
    #[key(unset = "twice `lossy_queue`", from = "uet-htsim")]
    pub(crate) control_queue: Written<Size>,
    /// which packet is trimmed: `"arriving"`, the one for which there is no room; `"either"`, at random that packet or the newest one in the queue
    #[key(from = "SAI; `\"either\"`: uet-htsim")]
    pub(crate) cut: WithDefault<OneOf<Cut>>,
}

/// The trimming of `[switch.trimming]`; `lossy_queue` is the limit of a lossy queue, in bytes.
pub(super) fn trimming(table: &Written<Trimming>, lossy_queue: u64) -> Option<Config> {
    let file = table.get()?.get_ref();
    let size = file.size.value().0;
    let queue = file.control_queue.value().map(|it| it.0);
    Some(Config {
        // A larger one is larger than any frame, which the simulator refuses.
        bytes: size.try_into().unwrap_or(u16::MAX),
        control_queue_bytes: queue.unwrap_or_else(|| lossy_queue.saturating_mul(2)),
        cut: file.cut.value().0,
    })
}
