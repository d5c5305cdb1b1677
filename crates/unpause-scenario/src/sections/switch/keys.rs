//! `[switch]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::config::{HostConfig, PfcConfig, Queueing, SwitchConfig};

use super::cioq::Cioq;
use super::input_queued::InputQueued;
use super::pipeline::Pipeline;
use super::scheduler::Scheduler;
use crate::text::checks::data_priority;
use crate::text::error::{Checked, Problem};
use crate::text::quantity::Size;

/// `[switch]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    pub model: Option<Spanned<ModelKey>>,
    pub pipeline: Option<Spanned<Pipeline>>,
    pub cioq: Option<Spanned<Cioq>>,
    pub input_queued: Option<Spanned<InputQueued>>,
    pub lossless: Option<Vec<Spanned<u8>>>,
    pub buffer: Option<Spanned<Size>>,
    pub lossy_queue: Option<Spanned<Size>>,
    pub lossy_queue_packets: Option<Spanned<u32>>,
    pub queueing: Option<Spanned<QueueingKey>>,
    pub scheduler: Option<Spanned<Scheduler>>,
}

/// How packets get from ingress to egress.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelKey {
    SharedBuffer,
    Pipeline,
    Cioq,
    InputQueued,
}

/// In which order an egress queue serves packets.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QueueingKey {
    Fifo,
    Voq,
}

/// Switches, whatever their model.
pub(crate) fn switch(file: &Switch, pfc: PfcConfig, host: &HostConfig) -> Checked<SwitchConfig> {
    let mut switch = SwitchConfig {
        pfc,
        ..SwitchConfig::default()
    };
    if let Some(priorities) = &file.lossless {
        switch.lossless = 0;
        for priority in priorities {
            let number = data_priority(priority)?;
            if number == host.control_priority {
                return Problem::new(format!("priority {number} carries control frames"))
                    .at(
                        priority.span(),
                        "must not be lossless: PAUSE would stop ACKs and CNPs",
                    )
                    .help("choose another priority, or set host.control_priority")
                    .err();
            }
            switch.lossless |= 1 << number;
        }
    }
    if let Some(packets) = &file.lossy_queue_packets {
        if *packets.get_ref() == 0 {
            return Problem::new("`lossy_queue_packets` is zero")
                .at(packets.span(), "nothing could wait")
                .err();
        }
        switch.lossy_queue_packets = Some(*packets.get_ref());
        // Packets alone limit the queue unless bytes are said, too.
        switch.lossy_queue_bytes = u64::MAX;
    }
    switch.buffer_bytes = file.buffer.as_ref().map(|size| size.get_ref().0);
    if let Some(size) = &file.lossy_queue {
        switch.lossy_queue_bytes = size.get_ref().0;
    }
    switch.queueing = match file.queueing.as_ref().map(Spanned::get_ref) {
        None | Some(QueueingKey::Fifo) => Queueing::Fifo,
        Some(QueueingKey::Voq) => Queueing::Voq,
    };
    Ok(switch)
}
