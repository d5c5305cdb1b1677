//! `[hpcc]`: results also in the formats of HPCC's simulator.

use unpause_protocols::units::Time;
use unpause_sim::config::{HistogramProbe, Probes};

use super::probes::ProbeKeys;
use crate::text::error::{Checked, Problem};
use crate::text::keys::keys;
use crate::text::quantity::Duration;

/// Which files are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hpcc {
    /// `fct.txt`
    pub fct: bool,
    /// `pfc.txt`
    pub pfc: bool,
    /// `qlen.txt`
    pub qlen: bool,
}

/// How queues are counted where a configuration says nothing; no key changes how often (`qlen_mon_interval`), and
/// how often that is written (`qlen_dump_interval` of `third.cc`).
const QLEN: HistogramProbe = HistogramProbe {
    interval: Time::from_ns(100),
    start: Time::from_ms(2000),
    end: Time::from_ms(2100),
    report: Time::from_ms(100),
};

keys! {
    /// `[hpcc]`
    #[derive(Default)]
    pub(crate) HpccKeys at "hpcc" for Hpcc {
        fct: bool "write `hpcc/fct.txt`: completed flows, with FCTs until the last ACK is at the sender" => fct;
        pfc: bool "write `hpcc/pfc.txt`: PAUSEs and their ends where they arrive" => pfc;
        qlen: bool "write `hpcc/qlen.txt`: how long the queues of each port of switches were, counted every 100 ns, \
            written at each 100 ms of the run that `qlen_start` and `qlen_end` hold" => qlen;
        qlen_start: Duration = [QLEN.start] "the first instant that counts" from "`third.cc`"
            idle ("queues are not counted", "add qlen = true");
        qlen_end: Duration = [QLEN.end] "the last one" from "`third.cc`"
            idle ("queues are not counted", "add qlen = true");
    }
}

impl Hpcc {
    /// True if any file is asked for.
    pub fn any(&self) -> bool {
        self.fct || self.pfc || self.qlen
    }

    /// Has recorded what the files say.
    pub fn record(
        &self,
        keys: &HpccKeys,
        written: &ProbeKeys,
        probes: &mut Probes,
    ) -> Checked<()> {
        if self.pfc
            && let Some(off) = written.pauses.get().filter(|pauses| !*pauses.get_ref())
        {
            return Problem::new(
                "`hpcc/pfc.txt` is made of the PAUSEs that `pauses = false` leaves out",
            )
            .at(off.span(), "no PAUSE is recorded")
            .help("remove it, or `pfc = true` in [hpcc]")
            .err();
        }
        probes.acknowledged |= self.fct;
        probes.pauses |= self.pfc;
        if self.qlen {
            let [start, end] = [&keys.qlen_start, &keys.qlen_end].map(|it| it.value());
            probes.histogram = Some(HistogramProbe {
                start: start.map_or(QLEN.start, |it| it.0),
                end: end.map_or(QLEN.end, |it| it.0),
                ..QLEN
            });
        }
        Ok(())
    }
}
