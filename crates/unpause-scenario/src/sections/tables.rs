//! What is said of the keys of each table that has no file for each value of one of its keys.

use super::event::{EventKeys, RoutingKeys};
use super::file::{File, Report};
use super::host::Host;
use super::hpcc::HpccKeys;
use super::job::{JobKeys, StepKeys};
use super::link::Link;
use super::overrides::OverrideKeys;
use super::pfc::Pfc;
use super::pias::Pias;
use super::probes::ProbeKeys;
use super::scheme::SchemeKeys;
use super::slow_receiver::SlowReceiverKeys;
use super::sweep::SweepKeys;
use super::switch::{
    Cioq, InputQueued, Pipeline, Scheduler, SharedMemory, Switch, Trimming, Watchdog,
};
use super::tcp::Tcp;
use super::topology::{LinkKeys, TopologyFile};
use super::traffic::Common;
use crate::text::keys::{Key, Keys};

/// The tables of a scenario file, by the paths of their keys, and these; of the file itself the path is empty.
pub fn sections() -> Vec<(&'static str, Vec<Key>)> {
    fn keys<P: Default, K: Keys<P>>() -> Vec<Key> {
        K::keys(&P::default())
    }
    vec![
        ("", keys::<_, File>()),
        ("topology", keys::<_, TopologyFile>()),
        ("topology.link", keys::<_, LinkKeys>()),
        ("host", keys::<_, Host>()),
        ("tcp", keys::<_, Tcp>()),
        ("pias", keys::<_, Pias>()),
        ("switch", keys::<_, Switch>()),
        ("switch.scheduler", keys::<_, Scheduler>()),
        ("switch.trimming", keys::<_, Trimming>()),
        ("switch.watchdog", keys::<_, Watchdog>()),
        ("switch.pipeline", keys::<_, Pipeline>()),
        ("switch.pipeline.shared", keys::<_, SharedMemory>()),
        ("switch.cioq", keys::<_, Cioq>()),
        ("switch.input_queued", keys::<_, InputQueued>()),
        ("link", keys::<_, Link>()),
        ("pfc", keys::<_, Pfc>()),
        ("routing", keys::<_, RoutingKeys>()),
        ("event", keys::<_, EventKeys>()),
        ("override", keys::<_, OverrideKeys>()),
        ("slow_receiver", keys::<_, SlowReceiverKeys>()),
        ("scheme", keys::<_, SchemeKeys>()),
        ("traffic", keys::<_, Common>()),
        ("job", keys::<_, JobKeys>()),
        ("job.step", keys::<_, StepKeys>()),
        ("probes", keys::<_, ProbeKeys>()),
        ("hpcc", keys::<_, HpccKeys>()),
        ("sweep", keys::<_, SweepKeys>()),
        ("report", keys::<_, Report>()),
    ]
}
