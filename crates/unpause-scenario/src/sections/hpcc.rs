//! `[hpcc]`: results also in the formats of HPCC's simulator.

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::{HistogramProbe, PortId, Probes};

use super::probes::ProbeKeys;
use crate::text::keys::{Keys, Param, WithDefault, Written};
use unpause_import::fabric::names::Names;
use unpause_results::run::Hpcc;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

/// How queues are counted where a configuration says nothing; no key changes how often (`qlen_mon_interval`), and
/// how often that is written (`qlen_dump_interval` of `third.cc`).
const QLEN: HistogramProbe = HistogramProbe {
    interval: Time::from_ns(100),
    start: Time::from_ms(2000),
    end: Time::from_ms(2100),
    report: Time::from_ms(100),
};

type Nodes = Vec<Spanned<String>>;

/// `[hpcc]`
#[derive(Keys)]
#[keys("hpcc", sets = Hpcc)]
pub(crate) struct HpccKeys {
    /// write `hpcc/fct.txt`: completed flows, with FCTs up to the last ACK at the sender
    pub(crate) fct: Param<bool>,
    /// write `hpcc/pfc.txt`: start and end of each PAUSE, where it arrives
    pub(crate) pfc: Param<bool>,
    /// write `hpcc/qlen.txt`: queue lengths of all switch ports, sampled every 100 ns and written every 100 ms between `qlen_start` and `qlen_end`
    pub(crate) qlen: Param<bool>,
    /// first time that is sampled
    #[key(default = Duration(QLEN.start), from = "`third.cc`", idle = ("queues are not sampled", "add qlen = true"))]
    pub(crate) qlen_start: WithDefault<Duration>,
    /// write `hpcc/mix.tr`: every packet that these nodes (`["S5", "H0"]`) receive, queue or send, for HPCC's `trace_reader`; also in table `packets`
    #[key(unset = "none")]
    pub(crate) trace: Written<Nodes>,
    /// last time that is sampled
    #[key(default = Duration(QLEN.end), from = "`third.cc`", idle = ("queues are not sampled", "add qlen = true"))]
    pub(crate) qlen_end: WithDefault<Duration>,
}

/// Adds to `probes` what the files of `hpcc` need.
pub(crate) fn record(
    hpcc: &mut Hpcc,
    keys: &HpccKeys,
    (names, written): (&Names, &ProbeKeys),
    probes: &mut Probes,
) -> Checked<()> {
    if hpcc.pfc
        && let Some(off) = written.pauses.get().filter(|pauses| !*pauses.get_ref())
    {
        return Problem::new("`hpcc/pfc.txt` needs the PAUSEs that `pauses = false` leaves out")
            .at(off.span(), "no PAUSE is recorded")
            .help("remove it, or `pfc = true` in [hpcc]")
            .err();
    }
    probes.acknowledged |= hpcc.fct;
    probes.pauses |= hpcc.pfc;
    if hpcc.qlen {
        probes.histogram = Some(HistogramProbe {
            start: keys.qlen_start.value().0,
            end: keys.qlen_end.value().0,
            ..QLEN
        });
    }
    for name in keys.trace.value().into_iter().flatten() {
        if let Some(some) = written.packet_flows.get() {
            return Problem::new("`hpcc/mix.tr` needs the packets that `packet_flows` leaves out")
                .at(some.span(), "only packets of these flows are recorded")
                .help("remove it, or `trace` in [hpcc]")
                .err();
        }
        hpcc.trace.push(names.node(name.get_ref(), &name.span())?);
    }
    hpcc.trace.sort_unstable();
    hpcc.trace.dedup();
    for &node in &hpcc.trace {
        let own = 0..names.peers[node as usize].len() as PortId;
        probes.packets.extend(own.map(|port| (node, port)));
        for &peer in &names.peers[node as usize] {
            let back = names.peers[peer as usize].iter().zip(0..);
            let back = back.filter(|(far, _)| **far == node);
            probes.packets.extend(back.map(|(_, port)| (peer, port)));
        }
    }
    if !hpcc.trace.is_empty() {
        probes.packets.sort_unstable();
        probes.packets.dedup();
    }
    Ok(())
}
