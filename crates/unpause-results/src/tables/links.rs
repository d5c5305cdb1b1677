//! Tables of what changed at links, and of what was lost there.

use arrow_array::RecordBatch;
use unpause_sim::config::{NodeId, PortId};
use unpause_sim::results::{LinkChange, LossPlace};

use super::builder::Builder;
use crate::columns;
use crate::run::measured::Measured;

pub(super) fn losses(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::LOSSES], measured, |m| {
        m.results.losses.iter().collect()
    })
    .port(|it| (it.node, it.port, it.priority))
    .column("reason", |_, it| match it.place {
        LossPlace::Switch => "no-route",
        LossPlace::Wire | LossPlace::Queue | LossPlace::Port => "link-down",
        LossPlace::Error => "error",
    })
    .column("place", |_, it| match it.place {
        LossPlace::Wire | LossPlace::Error => "wire",
        LossPlace::Queue => "queue",
        LossPlace::Port => "port",
        LossPlace::Switch => "switch",
    })
    .column("since_ns", |_, it| it.since)
    .column("packets", |_, it| it.packets)
    .column("bytes", |_, it| it.bytes)
    .column("data_packets", |_, it| it.data_packets)
    .build()
}

pub(super) fn link_changes(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::LINK_CHANGES], measured, |m| {
        m.results.link_changes.iter().collect()
    })
    .column("time_ns", |_, it| it.at())
    .column("change", |_, it| match it {
        LinkChange::Wire { up: true, .. } => "up",
        LinkChange::Wire { up: false, .. } => "down",
        LinkChange::Errors { .. } => "errors",
        LinkChange::Rate { .. } => "rate",
        LinkChange::Routes { .. } => "routes",
    })
    .column("node", |run, it| {
        it.port().map(|(node, _)| run.names.name(node))
    })
    .column("port", |_, it| it.port().map(|(_, port)| port))
    .column("peer", |run, it| {
        let peer =
            |(node, port): (NodeId, PortId)| run.names.peers[node as usize][usize::from(port)];
        it.port().map(|port| run.names.name(peer(port)))
    })
    .column("rate_bps", |_, it| match it {
        LinkChange::Rate { rate, .. } => Some(rate.as_bps()),
        _ => None,
    })
    .build()
}
