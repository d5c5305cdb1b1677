//! Bursts that trimmed headers alone are too many for: their receiver's port loses some of them.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::Rate;
use unpause_sim::config::{Config, NodeId};
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::run::Run;
use crate::warnings::room::Links;
use crate::warnings::said::Foreseen;
use unpause_text::count::{counted, size};

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "trimmed-headers";

/// The flows of one receiver that start together.
#[derive(Default)]
struct Burst {
    senders: BTreeSet<NodeId>,
    bytes: u64,
}

/// The receiver whose senders exceed what its port forwards of headers by most; of flows that start at one time.
///
/// A header of h bytes stands for a frame of f: from links of the receiver's rate more than f / h senders bring more headers than
/// its link carries, and their queue grows. What a sender's window holds back is not looked at.
pub fn of(run: &Run) -> Option<Foreseen> {
    let config = &run.config;
    let trimming = config.switch.trimming?;
    let links = Links::of(config);
    let framing = u64::from(config.fabric.framing_bytes);
    let header = u64::from(trimming.bytes);
    let ratio = (header + framing) as f64 / (u64::from(frame(config)) + framing) as f64;
    let mut worst: Option<(f64, NodeId, usize, Rate)> = None;
    for ((_, dst, _), burst) in bursts(config) {
        let Some(own) = links.at(dst, 0) else {
            continue;
        };
        let rate = |node: NodeId| links.at(node, 0).map_or(0, |it| it.rate.as_bps());
        let brought = burst.senders.iter().map(|it| rate(*it)).sum::<u64>() as f64 * ratio;
        let most = own.rate.as_bps() as f64;
        // Bytes of headers that stay, if all packets but those that the link carries are trimmed.
        let packets = burst.bytes / u64::from(config.host.payload_bytes).max(1);
        let stay = (packets * header) as f64 * (1.0 - most / brought);
        let is_worse = worst.is_none_or(|(than, ..)| brought > than);
        if brought > most && stay > trimming.control_queue_bytes as f64 && is_worse {
            worst = Some((brought, dst, burst.senders.len(), own.rate));
        }
    }
    let (brought, dst, senders, rate) = worst?;
    Some(Foreseen {
        kind: KIND,
        message: format!(
            "headers of trimmed packets can be lost before {}: {} bring up to {} of them, more than the {rate} of its link, and \
             switch.trimming.control_queue holds {}",
            run.names.name(dst),
            counted(senders, "sender"),
            Rate::from_mbps((brought / 1e8) as u64 * 100),
            size(trimming.control_queue_bytes)
        ),
        help: format!(
            "raise switch.trimming.control_queue, or payload of [host]: a header of {header} B stands for a frame of {} B",
            frame(config)
        ),
        key: ["switch", "trimming"].map(str::to_owned).to_vec(),
    })
}

fn frame(config: &Config) -> u32 {
    config.host.payload_bytes + config.host.header_bytes
}

/// By start, receiver and priority the RoCE flows with a size that are not lossless.
fn bursts(config: &Config) -> BTreeMap<(u64, NodeId, u8), Burst> {
    let mut all: BTreeMap<_, Burst> = BTreeMap::new();
    for spec in &config.traffic {
        let TrafficSpec::Flows(flows) = spec else {
            continue;
        };
        for flow in flows.iter() {
            let is_lossless = config.switch.lossless >> flow.priority & 1 == 1;
            let Some(bytes) = flow.size_bytes.filter(|_| !is_lossless) else {
                continue;
            };
            if flow.transport == Transport::Roce {
                let burst = all
                    .entry((flow.start.as_ps(), flow.dst, flow.priority))
                    .or_default();
                burst.senders.insert(flow.src);
                burst.bytes += bytes;
            }
        }
    }
    all
}
