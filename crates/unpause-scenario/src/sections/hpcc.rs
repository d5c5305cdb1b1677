//! `[hpcc]`: results also in the formats of HPCC's simulator.

use unpause_sim::config::Probes;

use super::probes::ProbeKeys;
use crate::text::error::{Checked, Problem};
use crate::text::keys::keys;

/// Which files are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hpcc {
    /// `fct.txt`
    pub fct: bool,
    /// `pfc.txt`
    pub pfc: bool,
}

keys! {
    /// `[hpcc]`
    #[derive(Default)]
    pub(crate) HpccKeys at "hpcc" for Hpcc {
        fct: bool "write `hpcc/fct.txt`: completed flows, with FCTs until the last ACK is at the sender" => fct;
        pfc: bool "write `hpcc/pfc.txt`: PAUSEs and their ends where they arrive" => pfc;
    }
}

impl Hpcc {
    /// True if any file is asked for.
    pub fn any(&self) -> bool {
        self.fct || self.pfc
    }

    /// Has recorded what the files say.
    pub fn record(&self, written: &ProbeKeys, probes: &mut Probes) -> Checked<()> {
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
        Ok(())
    }
}
