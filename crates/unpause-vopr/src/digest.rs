//! A number that stands for the results of a run: the same on any machine, and in any build that
//! computes the same.

use std::path::Path;

use unpause_sim::results::Results;

use crate::case::Case;
use crate::judge::guarded;
use crate::simulate::{How, Simulated, simulate};

/// FNV-1a, 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a number, least byte first.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash of what was added.
    pub fn hash(self) -> u64 {
        self.0
    }

    fn row<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn option(&mut self, number: Option<u64>) {
        self.row([u64::from(number.is_some()), number.unwrap_or(0)]);
    }
}

/// Adds all that a run has measured. Each field is named here, so that a new one changes no hash of
/// what was there before.
pub fn add(fnv: &mut Fnv, results: &Results) {
    flows_and_ports(fnv, results);
    series(fnv, results);
    fnv.number(results.packets.len() as u64);
    for p in &results.packets {
        fnv.row([
            p.time.as_ps(),
            p.arrival.as_ps(),
            p.node.into(),
            p.port.into(),
            p.flow.into(),
            p.src.into(),
            p.dst.into(),
            p.priority.into(),
            p.bytes.into(),
            p.seq.into(),
        ]);
        fnv.bytes(format!("{:?}", p.kind).as_bytes());
        fnv.row([p.ect, p.ce, p.cwr, p.ece, p.all].map(u64::from));
    }
    if let Some(deadlock) = &results.deadlock {
        fnv.number(deadlock.began.as_ps());
        for &(node, port, priority) in &deadlock.cycle {
            fnv.row([node.into(), port.into(), priority.into()]);
        }
    }
    let t = &results.totals;
    fnv.row([
        t.simulated.as_ps(),
        t.packet_hops,
        t.events,
        t.data_packets,
        t.delivered_packets,
        t.dropped_packets,
        t.marked_packets,
        t.notifications,
        t.pause_frames,
        t.flows_started,
        t.flows_completed,
    ]);
}

fn flows_and_ports(fnv: &mut Fnv, results: &Results) {
    fnv.number(results.flows.len() as u64);
    for f in &results.flows {
        fnv.row([f.id, f.group.into(), f.src, f.dst, f.priority.into()].map(u64::from));
        fnv.option(f.size_bytes);
        fnv.option(f.fct.map(|time| time.as_ps()));
        fnv.option(f.ideal_fct.map(|time| time.as_ps()));
        fnv.row([
            f.start.as_ps(),
            f.delivered_bytes,
            f.retransmitted_packets,
            f.extra_delay.as_ps(),
            f.timeouts,
            f.gave_up.into(),
            f.notifications,
        ]);
        fnv.bytes(format!("{:?}", f.transport).as_bytes());
    }
    fnv.number(results.ports.len() as u64);
    for p in &results.ports {
        fnv.row([p.node, p.port.into(), p.priority.into()].map(u64::from));
        fnv.row([
            p.tx_packets,
            p.tx_bytes,
            p.marked_packets,
            p.cnm_packets,
            p.dropped_packets,
            p.dropped_bytes,
            p.headroom_dropped_packets,
            p.max_queue_bytes,
            p.max_ingress_bytes,
            p.pause_frames,
            p.pause_events,
            p.paused.as_ps(),
            p.stalls,
            p.stalled.as_ps(),
        ]);
    }
}

fn series(fnv: &mut Fnv, results: &Results) {
    fnv.number(results.pauses.len() as u64);
    for p in &results.pauses {
        fnv.row([p.node, p.port.into(), p.priority.into()].map(u64::from));
        fnv.row([p.obeyed.as_ps(), p.start.as_ps(), p.end.as_ps()]);
    }
    fnv.number(results.port_series.len() as u64);
    for s in &results.port_series {
        fnv.row([s.node, s.port.into(), s.priority.into()].map(u64::from));
        fnv.row([
            s.time.as_ps(),
            s.queue_bytes,
            s.queue_packets.into(),
            s.ingress_bytes,
            s.tx_bytes,
            s.dropped_packets,
            s.pause_frames,
            s.paused.as_ps(),
        ]);
    }
    fnv.number(results.flow_series.len() as u64);
    for s in &results.flow_series {
        fnv.option(s.controller_rate.map(|rate| rate.as_bps()));
        fnv.option(s.cwnd_bytes);
        fnv.row([
            s.time.as_ps(),
            s.flow.into(),
            s.sent_bytes,
            s.delivered_bytes,
            s.notifications,
        ]);
    }
}

/// The hash of the results of all runs of a scenario, one thread each; or, if there are none, why.
///
/// # Errors
///
/// A word for a scenario that is refused, too large, or panics, the same on any machine.
pub fn of_case(case: &Case, directory: &Path) -> Result<u64, String> {
    let hash = || {
        let scenario = case.compile(directory).map_err(|_| "refused".to_owned())?;
        let mut fnv = Fnv::default();
        for run in scenario.runs() {
            match simulate(&run.config, How::OnThreads(1)) {
                Ok(results) => add(&mut fnv, &results),
                Err(Simulated::TooLarge) => return Err("too large".into()),
                Err(Simulated::Hang(_)) => return Err("hangs".into()),
                Err(Simulated::Refused(_)) => return Err("refused to run".into()),
            }
        }
        Ok(fnv.hash())
    };
    guarded(hash).unwrap_or_else(|_| Err("panics".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv() {
        let mut fnv = Fnv::default();
        fnv.bytes(b"foobar");
        assert_eq!(fnv.hash(), 0x8594_4171_f739_67e8);
    }
}
