//! `[switch.watchdog]`: what switches do about a PAUSE that does not end.

use serde_spanned::Spanned;
use unpause_protocols::flow_control::watchdog::{Params, Rule};
use unpause_protocols::names::Names;
use unpause_protocols::units::Time;
use unpause_sim::config::{WatchdogAction, WatchdogConfig};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

/// SONiC's for up to 32 ports, of all three times.
const DEFAULT: Time = Time::from_ms(200);

/// `[switch.watchdog]`
#[derive(Keys)]
#[keys("switch.watchdog")]
pub(crate) struct Watchdog {
    /// a queue paused for this long is in a storm
    #[key(default = Duration(DEFAULT), from = "SONiC, `pfcwd start_default`")]
    pub(crate) detection_time: WithDefault<Duration>,
    /// the storm ends after this time without a PFC frame
    #[key(default = Duration(DEFAULT), from = "SONiC")]
    pub(crate) restoration_time: WithDefault<Duration>,
    /// polling interval; at most as long as either of the two times
    #[key(default = Duration(DEFAULT), from = "SONiC")]
    pub(crate) poll_interval: WithDefault<Duration>,
    /// action during a storm: `"drop"` packets that wait at the port, are sent to it or arrive on it; `"forward"` packets in spite of PAUSE; `"alert"`: only report it
    #[key(from = "SONiC")]
    pub(crate) action: WithDefault<OneOf<WatchdogAction>>,
    /// which ports have a watchdog: `"all"`, or `"hosts"`, those to hosts
    #[key(from = "SONiC sets it port by port")]
    pub(crate) ports: WithDefault<OneOf<PortsKey>>,
    /// how a poll detects a storm: `"broadcom"`, PFC frames, and a queue that was paused at the last poll, is paused now and was not resumed in between; `"mellanox"`, a queue that has packets, sent none and was paused for more than 99 % of the interval
    #[key(from = "SONiC, `pfc_detect_broadcom.lua`, `pfc_detect_mellanox.lua`")]
    pub(crate) rule: WithDefault<OneOf<RuleKey>>,
}

/// Which ports have a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum PortsKey {
    All,
    Hosts,
}

/// How a storm is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum RuleKey {
    Broadcom,
    Mellanox,
}

/// The watchdog of `[switch.watchdog]` or of an override, if there is one.
pub(crate) fn watchdog(table: &Written<Watchdog>) -> Checked<Option<WatchdogConfig>> {
    let Some(table) = table.get() else {
        return Ok(None);
    };
    let file = table.get_ref();
    let params = Params {
        detection: file.detection_time.value().0,
        restoration: file.restoration_time.value().0,
        poll: file.poll_interval.value().0,
        rule: match file.rule.value().0 {
            RuleKey::Mellanox => Rule::Held,
            RuleKey::Broadcom => Rule::Frames,
        },
    };
    check(table, &params)?;
    let hosts_only = file.ports.value().0 == PortsKey::Hosts;
    Ok(Some(WatchdogConfig {
        params,
        action: file.action.value().0,
        hosts_only,
    }))
}

/// SONiC refuses the same.
fn check(table: &Spanned<Watchdog>, params: &Params) -> Checked<()> {
    let file = table.get_ref();
    let at = |key: &Written<Duration>| key.peek().map_or(table.span(), |it| it.span());
    if params.poll == Time::ZERO {
        return Problem::new("the watchdog never polls")
            .at(at(&file.poll_interval), "must be above zero")
            .err();
    }
    let times = [
        ("detection_time", &file.detection_time, params.detection),
        (
            "restoration_time",
            &file.restoration_time,
            params.restoration,
        ),
    ];
    for (name, key, value) in times {
        if value < params.poll {
            return Problem::new(format!("{name} is shorter than poll_interval"))
                .at(at(key), format!("{name} is {value}"))
                .at(
                    at(&file.poll_interval),
                    format!("the switch polls every {}", params.poll),
                )
                .help(format!(
                    "set poll_interval = \"{value}\" or less, or a longer {name}"
                ))
                .err();
        }
    }
    Ok(())
}
