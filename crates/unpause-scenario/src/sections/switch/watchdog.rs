//! `[switch.watchdog]`: what switches do about a PAUSE that does not end.

use serde_spanned::Spanned;
use unpause_protocols::flow_control::watchdog::{Params, Rule};
use unpause_protocols::units::Time;
use unpause_sim::config::{WatchdogAction, WatchdogConfig};

use crate::text::keys::{Written, keys, names};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

/// SONiC's for up to 32 ports, of all three times.
const DEFAULT: Time = Time::from_ms(200);

keys! {
    /// `[switch.watchdog]`
    #[derive(Default)]
    pub(crate) Watchdog at "switch.watchdog" for () {
        detection_time: Duration = [DEFAULT]
            "a queue paused for this long is in a storm" from "SONiC, `pfcwd start_default`";
        restoration_time: Duration = [DEFAULT]
            "the storm ends after this time without a PFC frame" from "SONiC";
        poll_interval: Duration = [DEFAULT]
            "polling interval; at most as long as either of the two times" from "SONiC";
        action: Action = ["`\"drop\"`"]
            "action during a storm: `\"drop\"` packets that wait at the port, are sent to it or arrive on it; `\"forward\"` packets in spite of PAUSE; `\"alert\"`: only report it"
            from "SONiC";
        ports: PortsKey = ["`\"all\"`"] "which ports have a watchdog: `\"all\"`, or `\"hosts\"`, those to hosts" from "SONiC sets it port by port";
        rule: RuleKey = ["`\"broadcom\"`"]
            "how a poll detects a storm: `\"broadcom\"`, PFC frames, and a queue that was paused at the last poll, is paused now and was not resumed in between; `\"mellanox\"`, a queue that has packets, sent none and was paused for more than \
             99 % of the interval"
            from "SONiC, `pfc_detect_broadcom.lua`, `pfc_detect_mellanox.lua`";
    }
}

names! {
    /// What a watchdog does during a storm.
    pub(crate) Action { Drop = "drop", Forward = "forward", Alert = "alert" }
}

names! {
    /// Which ports have a watchdog.
    pub(crate) PortsKey { All = "all", Hosts = "hosts" }
}

names! {
    /// How a storm is detected.
    pub(crate) RuleKey { Broadcom = "broadcom", Mellanox = "mellanox" }
}

/// What `[switch.watchdog]` says.
pub(super) fn watchdog(table: &Written<Watchdog>) -> Checked<Option<WatchdogConfig>> {
    let Some(table) = table.get() else {
        return Ok(None);
    };
    let file = table.get_ref();
    let time = |key: &Written<Duration>| key.value().map_or(DEFAULT, |it| it.0);
    let params = Params {
        detection: time(&file.detection_time),
        restoration: time(&file.restoration_time),
        poll: time(&file.poll_interval),
        rule: match file.rule.value() {
            Some(RuleKey::Mellanox) => Rule::Held,
            Some(RuleKey::Broadcom) | None => Rule::Frames,
        },
    };
    check(table, &params)?;
    let action = match file.action.value() {
        Some(Action::Forward) => WatchdogAction::Forward,
        Some(Action::Alert) => WatchdogAction::Alert,
        Some(Action::Drop) | None => WatchdogAction::Drop,
    };
    let hosts_only = file.ports.value() == Some(&PortsKey::Hosts);
    Ok(Some(WatchdogConfig {
        params,
        action,
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
