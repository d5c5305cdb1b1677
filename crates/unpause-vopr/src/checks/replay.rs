//! Replays the packets that hosts received, where all packets are recorded.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_control, loss_recovery};
use unpause_sim::config::{Config, NodeId};
use unpause_sim::jobs::Over;
use unpause_sim::results::{FlowRecord, PacketKind, PacketRecord, Results, flow};
use unpause_sim::traffic::{TrafficSpec, Transport};

use super::facts::{Answer, Clocks, is_host, is_slow, ports, records_all};

/// Packets by flow that have come to their destination by the end, in order of arrival.
fn arrived<'r>(config: &Config, results: &'r Results) -> BTreeMap<u32, Vec<&'r PacketRecord>> {
    let peers: BTreeMap<_, NodeId> = ports(config)
        .into_iter()
        .map(|port| ((port.node, port.number), port.peer))
        .collect();
    let mut arrived: BTreeMap<u32, Vec<&PacketRecord>> = BTreeMap::new();
    for packet in &results.packets {
        let peer = peers.get(&(packet.node, packet.port));
        let is_there = peer == Some(&packet.dst) && is_host(config, packet.dst);
        if is_there && packet.kind != PacketKind::Pfc && packet.arrival < results.totals.simulated {
            arrived.entry(packet.flow).or_default().push(packet);
        }
    }
    for packets in arrived.values_mut() {
        packets.sort_by_key(|packet| packet.arrival);
    }
    arrived
}

/// Packets sent, on every link and from end to end, are as many as are recorded; a RoCE flow has
/// delivered what its loss recovery takes of those that came; a sender has heard the notifications that came.
pub fn delivery(config: &Config, results: &Results) -> Answer {
    // A port that does not wait for the round trip of its link gives up frames that have come.
    let retry = config.switch.retry;
    if !records_all(config) || retry.is_some_and(|retry| retry.replay_timer.is_some()) {
        return Ok(());
    }
    let arrived = arrived(config, results);
    counted(config, results, &arrived)?;
    let none = Vec::new();
    for flow in &results.flows {
        let packets = arrived.get(&flow.id).unwrap_or(&none);
        let at_once = flow.extra_delay == Time::ZERO && !is_slow(config, flow.dst);
        // Messages of jobs end with packets that are not full.
        let is_job = config.jobs.iter().any(|job| job.entry == flow.group);
        if flow.transport == Transport::Roce && at_once && !is_job {
            let expected = match config.scheme.loss_recovery {
                loss_recovery::Config::GoBackN => go_back_n(packets),
                loss_recovery::Config::SelectiveRepeat(_) => selective_repeat(packets),
            };
            delivered(config, flow, expected)?;
        }
        heard(config, results, flow, packets)?;
    }
    Ok(())
}

fn counted(
    config: &Config,
    results: &Results,
    arrived: &BTreeMap<u32, Vec<&PacketRecord>>,
) -> Answer {
    let first = |packet: &&PacketRecord| packet.kind.is_data() && packet.node == packet.src;
    let sent = results.packets.iter().filter(first).count() as u64;
    let came = arrived.values().flatten();
    let came = came.filter(|packet| packet.kind.is_data()).count() as u64;
    // Those that a host holds back have come and are not delivered.
    let held_back = results
        .flows
        .iter()
        .any(|flow| flow.extra_delay > Time::ZERO || is_slow(config, flow.dst));
    let totals = &results.totals;
    let hops = results.packets.len() as u64;
    for (what, recorded, counted) in [
        ("packets over links", hops, totals.packet_hops),
        ("data packets sent", sent, totals.data_packets),
        ("data packets delivered", came, totals.delivered_packets),
    ] {
        let is_right = if held_back && recorded == came {
            counted <= recorded
        } else {
            counted == recorded
        };
        if !is_right {
            return Err(format!("{what}: {recorded} recorded, {counted} counted"));
        }
    }
    // PFC frames have no flow.
    if results
        .packets
        .iter()
        .any(|packet| packet.kind == PacketKind::Pfc && config.switch.lossless == 0)
    {
        Err("a PFC frame where no priority is lossless".into())
    } else {
        Ok(())
    }
}

/// Packets that go-back-N takes of those that came.
fn go_back_n(packets: &[&PacketRecord]) -> u32 {
    let mut expected = 0;
    for packet in packets {
        expected += u32::from(packet.kind == PacketKind::Data && packet.seq == expected);
    }
    expected
}

/// Packets before the first one that has not come.
fn selective_repeat(packets: &[&PacketRecord]) -> u32 {
    let data = packets
        .iter()
        .filter(|packet| packet.kind == PacketKind::Data);
    let came: BTreeSet<u32> = data.map(|packet| packet.seq).collect();
    let in_order = came.iter().zip(0..);
    in_order.take_while(|(seq, place)| *seq == place).count() as u32
}

fn delivered(config: &Config, flow: &FlowRecord, expected: u32) -> Answer {
    let bytes = u64::from(expected) * u64::from(config.host.payload_bytes);
    let delivered = flow.size_bytes.map_or(bytes, |size| size.min(bytes));
    if flow.delivered_bytes == delivered {
        Ok(())
    } else {
        Err(format!(
            "flow {} delivered {} B, of what came its receiver takes {delivered} B",
            flow.id, flow.delivered_bytes
        ))
    }
}

/// Notifications count when they take effect, and while the sender knows the flow.
fn heard(
    config: &Config,
    results: &Results,
    flow: &FlowRecord,
    packets: &[&PacketRecord],
) -> Answer {
    use PacketKind::{Cnm, Cnp, PcnDecrease, PcnIncrease};
    let reaction = config.host.notification_reaction;
    let counts = |packet: &&&PacketRecord| {
        matches!(packet.kind, Cnm | Cnp | PcnDecrease | PcnIncrease)
            && packet.dst == flow.src
            && packet.arrival.saturating_add(reaction) < results.totals.simulated
    };
    let came = packets.iter().filter(counts).count() as u64;
    let is_right = if is_known_to_the_end(config, flow) {
        flow.notifications == came
    } else {
        flow.notifications <= came
    };
    // Senders of TCP and UDP have no use for notifications.
    if is_right || flow.transport != Transport::Roce {
        Ok(())
    } else {
        Err(format!(
            "the sender of flow {} heard {} notifications, {came} came",
            flow.id, flow.notifications
        ))
    }
}

/// The sender has not forgotten it: it is not complete, has not given up, does not stop by itself, and is no connection for one
/// message, whose end is not recorded.
fn is_known_to_the_end(config: &Config, flow: &FlowRecord) -> bool {
    let never_stops = match &config.traffic[usize::from(flow.group)] {
        TrafficSpec::Flows(flows) => flows.iter().all(|flow| flow.stop.is_never()),
        TrafficSpec::Pattern(pattern) => pattern.lifetime.is_never(),
    };
    let mut jobs = config.jobs.iter();
    let is_of_one_message = jobs.any(|job| job.entry == flow.group && job.over == Over::Messages);
    flow.fct.is_none() && !flow.gave_up && never_stops && !is_of_one_message
}

/// A RoCE flow sends its packets one after the other, and one again only after a NAK of its own or a timeout.
pub fn again(config: &Config, results: &Results) -> Answer {
    if !records_all(config) {
        return Ok(());
    }
    let mut naks: BTreeMap<u32, Time> = BTreeMap::new();
    for (flow, packets) in arrived(config, results) {
        let is_nak = |kind| matches!(kind, PacketKind::Nak | PacketKind::TrimNak);
        let nak = packets.iter().find(|packet| is_nak(packet.kind));
        naks.extend(nak.map(|nak| (flow, nak.arrival)));
    }
    let sent = results.packets.iter();
    let sent = sent.filter(|sent| sent.kind == PacketKind::Data && sent.node == sent.src);
    let mut sent: Vec<&PacketRecord> = sent.collect();
    // Several NICs of a host may send packets of one flow at one time.
    sent.sort_by_key(|sent| (sent.time, sent.flow, sent.seq));
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    for packet in sent {
        let next = next.entry(packet.flow).or_default();
        if packet.seq > *next {
            return Err(format!(
                "flow {} sends packet {} at {}, but never {next}",
                packet.flow, packet.seq, packet.time
            ));
        }
        let may = || {
            let nak = naks
                .get(&packet.flow)
                .is_some_and(|nak| *nak <= packet.time);
            nak || flow(&results.flows, packet.flow).is_some_and(|flow| flow.timeouts > 0)
        };
        if packet.seq < *next && !may() {
            return Err(format!(
                "flow {} sends packet {} again at {}, without a NAK or a timeout",
                packet.flow, packet.seq, packet.time
            ));
        }
        *next = (*next).max(packet.seq + 1);
    }
    Ok(())
}

/// No flow sends faster than its `rate_limit`, nor than its source makes frames: what it sent before a
/// packet has had its time. Segments go at line rate.
pub fn limits(config: &Config, results: &Results) -> Answer {
    if !records_all(config) || in_segments(config) {
        return Ok(());
    }
    let clocks = Clocks::of(config);
    let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
    for packet in &results.packets {
        if packet.kind != PacketKind::Data || packet.node != packet.src {
            continue;
        }
        let Some(flow) = flow(&results.flows, packet.flow) else {
            return Err(format!(
                "a packet of flow {}, which did not start",
                packet.flow
            ));
        };
        let Some(rate) = slowest(config, flow.group) else {
            continue;
        };
        let rate = clocks.rate((flow.src, 0), rate);
        let needed = needed.entry(flow.id).or_default();
        let since = (packet.time - flow.start).as_ps();
        if since < *needed {
            return Err(format!(
                "flow {} sends at {}, {since} ps after its start; at {rate} what it sent takes {needed} ps",
                flow.id, packet.time
            ));
        }
        let bytes = u64::from(packet.bytes) + u64::from(config.fabric.framing_bytes);
        // Rounded to whole picoseconds.
        *needed += rate.time_for(bytes).as_ps().saturating_sub(1);
    }
    Ok(())
}

fn in_segments(config: &Config) -> bool {
    matches!(config.scheme.roce, congestion_control::Config::Timely(_))
}

/// The rate that all flows of an entry keep to, whatever the scheme says.
fn slowest(config: &Config, entry: u16) -> Option<Rate> {
    match &config.traffic[usize::from(entry)] {
        TrafficSpec::Flows(flows) => {
            let of =
                |limit: Option<Rate>, offered: Option<Rate>| limit.into_iter().chain(offered).min();
            let first = flows.first()?;
            let rate = of(first.rate_limit, first.offered);
            let same = |it: &unpause_sim::traffic::FlowSpec| of(it.rate_limit, it.offered) == rate;
            rate.filter(|_| flows.iter().all(same))
        }
        generated => {
            let flow = generated.settings()?;
            flow.rate_limit.into_iter().chain(flow.offered).min()
        }
    }
}
