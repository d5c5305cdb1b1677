//! The keys of all tables, but for those that depend on the value of another key.

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
    fn keys<K: Keys>() -> (&'static str, Vec<Key>) {
        (K::PATH, K::keys(&K::Params::default()))
    }
    vec![
        keys::<File>(),
        keys::<TopologyFile>(),
        keys::<LinkKeys>(),
        keys::<Host>(),
        keys::<Tcp>(),
        keys::<Pias>(),
        keys::<Switch>(),
        keys::<Scheduler>(),
        keys::<Trimming>(),
        keys::<Watchdog>(),
        keys::<Pipeline>(),
        keys::<SharedMemory>(),
        keys::<Cioq>(),
        keys::<InputQueued>(),
        keys::<Link>(),
        keys::<Pfc>(),
        keys::<RoutingKeys>(),
        keys::<EventKeys>(),
        keys::<OverrideKeys>(),
        keys::<SlowReceiverKeys>(),
        keys::<SchemeKeys>(),
        keys::<Common>(),
        keys::<JobKeys>(),
        keys::<StepKeys>(),
        keys::<ProbeKeys>(),
        keys::<HpccKeys>(),
        keys::<SweepKeys>(),
        keys::<Report>(),
    ]
}
