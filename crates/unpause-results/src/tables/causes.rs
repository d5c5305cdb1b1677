//! Tables `causes` and `victims`.

use arrow_array::RecordBatch;
use unpause_sim::config::{NodeId, PortId};
use unpause_sim::results::{CauseRecord, FlowShare, Holder, RootKind};

use super::builder::Builder;
use crate::columns;
use crate::run::Run;
use crate::run::measured::Measured;

/// A row: a PAUSE with its number, an egress that held bytes, a flow there.
type Row<'a> = (u32, &'a CauseRecord, &'a Holder, &'a FlowShare);

pub fn causes(measured: &[Measured]) -> RecordBatch {
    let table = Builder::new(&[columns::PORT, columns::CAUSES], measured, rows)
        .column("cause_id", |_, (number, ..): Row<'_>| number)
        .column("time_ns", |_, (_, cause, ..)| cause.time)
        .column("until_ns", |_, (_, cause, ..)| cause.until)
        .column("paused_ns", |_, (_, cause, ..)| cause.paused)
        .column("expired", |_, (_, cause, ..)| cause.expired)
        .port(|(_, cause, ..)| (cause.node, cause.port, cause.priority))
        .column("held_bytes", |_, (_, cause, ..)| cause.held_bytes)
        .column("dropped_packets", |_, (_, cause, ..)| cause.dropped_packets);
    let table = of_egress(of_root(table));
    table
        .column("flow_id", |_, (.., flow)| flow.flow)
        .column("flows", |_, (.., flow)| flow.flows)
        .column("flow_bytes", |_, (.., flow)| flow.bytes)
        .column("flow_queue_bytes", |_, (.., flow)| flow.queue_bytes)
        .build()
}

fn of_root<'a>(table: Builder<'a, Row<'a>>) -> Builder<'a, Row<'a>> {
    table
        .column("root_kind", |_, (_, cause, ..)| {
            cause.root.map(|it| kind(it.kind))
        })
        .column("root_node", |run, (_, cause, ..)| {
            cause.root.map(|it| run.names.name(it.node))
        })
        .column("root_port", |_, (_, cause, ..)| cause.root?.port)
        .column("root_peer", |run, (_, cause, ..)| {
            let root = cause.root?;
            peer(run, root.node, root.port)
        })
        .column("root_share", |_, (_, cause, ..)| {
            cause.root.map(|it| it.share)
        })
}

fn of_egress<'a>(table: Builder<'a, Row<'a>>) -> Builder<'a, Row<'a>> {
    table
        .column("seen_ns", |_, (_, _, holder, _)| holder.at)
        .column("egress_port", |_, (_, _, holder, _)| holder.egress)
        .column("egress_peer", |run, (_, cause, holder, _)| {
            peer(run, cause.node, holder.egress)
        })
        .column("egress_bytes", |_, (_, _, holder, _)| holder.bytes)
        .column("egress_queue_bytes", |_, (_, _, holder, _)| {
            holder.queue_bytes
        })
        .column("egress_inputs", |_, (_, _, holder, _)| holder.inputs)
        .column("egress_input_bps", |_, (_, _, holder, _)| holder.input_bps)
        .column("egress_senders", |_, (_, _, holder, _)| holder.senders)
        .column("egress_is_paused", |_, (_, _, holder, _)| holder.is_paused)
        .column("egress_paused_ns", |_, (_, _, holder, _)| holder.paused)
        .column("paused_by", |_, (_, _, holder, _)| holder.paused_by)
}

fn rows(measured: &Measured) -> Vec<Row<'_>> {
    let numbered = (0..).zip(&measured.results.causes);
    let holders = numbered.flat_map(|(number, cause)| {
        let holders = cause.holders.iter();
        holders.map(move |holder| (number, cause, holder))
    });
    holders
        .flat_map(|(number, cause, holder)| {
            let flows = holder.flows.iter();
            flows.map(move |flow| (number, cause, holder, flow))
        })
        .collect()
}

pub fn victims(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::VICTIMS], measured, |m| {
        m.results.victims.iter().collect()
    })
    .column("flow_id", |_, v| v.flow)
    .column("priority", |_, v| v.priority)
    .column("root_node", |run, v| run.names.name(v.node))
    .column("root_port", |_, v| v.port)
    .column("root_peer", |run, v| peer(run, v.node, v.port))
    .column("first_ns", |_, v| v.first)
    .column("last_ns", |_, v| v.last)
    .column("waited_ns", |_, v| v.waited)
    .column("unsent_bytes", |_, v| v.unsent_bytes)
    .column("pauses", |_, v| v.pauses)
    .build()
}

/// The node at the other end of a port, if there is one.
pub(super) fn peer(run: &Run, node: NodeId, port: Option<PortId>) -> Option<&str> {
    let peers = &run.names.peers[node as usize];
    Some(run.names.name(*peers.get(usize::from(port?))?))
}

fn kind(kind: RootKind) -> &'static str {
    match kind {
        RootKind::Incast => "incast",
        RootKind::SlowLink => "slow-link",
        RootKind::Busy => "busy",
        RootKind::Switch => "switch",
        RootKind::Nic => "nic",
        RootKind::Cycle => "cycle",
        RootKind::Pool => "pool",
    }
}
