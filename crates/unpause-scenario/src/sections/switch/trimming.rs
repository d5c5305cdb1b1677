//! `[switch.trimming]`: switches that cut the payload off packets instead of dropping them.

use unpause_sim::config::{Cut, Trimming as Config};

use crate::text::keys::{Written, keys, names};
use unpause_text::quantity::Size;

/// Bytes of a trimmed frame, unless others are said.
const SIZE: u16 = 128;

keys! {
    /// `[switch.trimming]`
    #[derive(Default)]
    pub(crate) Trimming at "switch.trimming" for () {
        size: Size = [u64::from(SIZE)] "size of a trimmed frame, at least its headers" from "SAI, `SAI_SWITCH_ATTR_PACKET_TRIM_SIZE`";
        control_queue: Size = ["twice `lossy_queue`"]
            "largest queue of the control priority at a port: trimmed packets wait there with ACKs; packets that exceed it are dropped"
            from "uet-htsim";
        cut: CutKey = ["`\"arriving\"`"]
            "which packet is trimmed: `\"arriving\"`, the one for which there is no room; `\"either\"`, at random that packet or the newest one in the queue"
            from "SAI; `\"either\"`: uet-htsim";
    }
}

names! {
    /// Which packet is trimmed.
    pub(crate) CutKey { Arriving = "arriving", Either = "either" }
}

/// What `[switch.trimming]` says; `lossy_queue` is the limit of a lossy queue, in bytes.
pub(super) fn trimming(table: &Written<Trimming>, lossy_queue: u64) -> Option<Config> {
    let file = table.get()?.get_ref();
    let size = file.size.value().map_or(u64::from(SIZE), |it| it.0);
    let queue = file.control_queue.value().map(|it| it.0);
    Some(Config {
        // A larger one is larger than any frame, which the simulator refuses.
        bytes: size.try_into().unwrap_or(u16::MAX),
        control_queue_bytes: queue.unwrap_or_else(|| lossy_queue.saturating_mul(2)),
        cut: match file.cut.value() {
            Some(CutKey::Either) => Cut::Either,
            Some(CutKey::Arriving) | None => Cut::Arriving,
        },
    })
}
