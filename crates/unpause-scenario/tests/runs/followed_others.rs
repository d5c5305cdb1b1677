//! Advice about priorities of a NIC and PFC watchdogs, followed to the letter: then what was missed comes.

use unpause_scenario::{Outcome, Warning};

use crate::small::{parsed, run};

fn of_kind<'a>(outcome: &'a Outcome, kind: &str) -> Vec<&'a Warning> {
    outcome
        .warnings
        .iter()
        .filter(|it| it.kind == kind)
        .collect()
}

fn help(warning: &Warning) -> &str {
    warning.help.as_deref().unwrap_or_default()
}

#[test]
fn shares_of_a_nic_that_are_advised_let_each_priority_send() {
    for (low, high) in [
        (1, &[4][..]),
        (0, &[3]),
        (2, &[5, 6]),
        (1, &[2, 3, 5]),
        (4, &[6]),
    ] {
        let flow = |priority: &u8| {
            format!(
                "[[traffic]]\nname = \"p{priority}\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\npriority = {priority}\nsize = \"9MB\"\n"
            )
        };
        let source = |host: &str| {
            format!(
                "duration = \"500us\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
                 [switch]\nlossless = []\n[host]\n{host}\n[[scheme]]\nname = \"x\"\n{}{}",
                high.iter().map(flow).collect::<String>(),
                flow(&low)
            )
        };
        let outcome = run(&source(""));
        let said = of_kind(&outcome, "starved-priority");
        let own = format!("of priority {low} ");
        let mut own = said.iter().filter(|it| it.message.contains(&own));
        let (_, ets) = help(own.next().expect("the lowest is starved"))
            .split_once("[host] ")
            .expect("shares");
        let (ets, _) = ets.split_once(';').expect("an end");
        let outcome = run(&source(ets));
        let left: Vec<_> = of_kind(&outcome, "starved-priority");
        let own = format!("of priority {low} ");
        assert!(
            left.iter().all(|it| !it.message.contains(&own)),
            "{ets}: {left:?}"
        );
    }
}

/// A receiver that takes nothing any more, behind a switch with a watchdog.
struct Storm {
    gbps: u64,
    duration_us: u64,
    watchdog: Vec<(&'static str, String)>,
    pfc: Vec<(&'static str, String)>,
}

impl Storm {
    fn new(gbps: u64, (poll, detection): (u64, u64)) -> Self {
        let us = |number: u64| format!("\"{number}us\"");
        Self {
            gbps,
            duration_us: 10_000,
            watchdog: vec![
                ("poll_interval", us(poll)),
                ("detection_time", us(detection)),
                ("restoration_time", us(detection)),
            ],
            pfc: Vec::new(),
        }
    }

    fn set(all: &mut Vec<(&'static str, String)>, key: &'static str, value: &str) {
        all.retain(|(old, _)| *old != key);
        all.push((key, value.to_owned()));
    }

    fn text(&self) -> String {
        let table = |keys: &[(&str, String)]| -> String {
            keys.iter()
                .map(|(key, value)| format!("{key} = {value}\n"))
                .collect()
        };
        format!(
            "duration = \"{}us\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 3\nrate = \"{}Gbps\"\ndelay = \"500ns\"\n\
             [slow_receiver]\nhosts = \"H0\"\ndrain_rate = \"0Gbps\"\nstart = \"10us\"\nxoff = \"20KB\"\n[pfc]\n{}\
             [switch.watchdog]\naction = \"alert\"\n{}[[scheme]]\nname = \"PFC\"\n\
             [[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\n",
            self.duration_us,
            self.gbps,
            table(&self.pfc),
            table(&self.watchdog),
        )
    }

    /// The help of the warning before the run, if there is one.
    fn blind(&self) -> Option<String> {
        let all = parsed(&self.text()).warnings();
        let blind = all.iter().find(|it| it.kind == "blind-watchdog");
        blind.map(|it| help(it).to_owned())
    }

    fn is_found(&self) -> bool {
        !of_kind(&run(&self.text()), "pfc-storm").is_empty()
    }

    /// With the settings of one alternative.
    fn follow(&self, alternative: &str) -> Self {
        let mut new = Self {
            watchdog: self.watchdog.clone(),
            pfc: self.pfc.clone(),
            ..*self
        };
        let value = |key: &str| {
            let (_, rest) = alternative.split_once(&format!("{key} to \""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        if let Some(poll) = value("poll_interval") {
            let poll = format!("\"{poll}\"");
            Self::set(&mut new.watchdog, "poll_interval", &poll);
            if alternative.contains("and detection_time and restoration_time to no less") {
                Self::set(&mut new.watchdog, "detection_time", &poll);
                Self::set(&mut new.watchdog, "restoration_time", &poll);
            }
        } else if let Some(pause) = value("pause_time") {
            Self::set(&mut new.pfc, "pause_time", &format!("\"{pause}\""));
        } else if let Some(duration) = value("duration") {
            let micros = duration
                .trim_end_matches("ms")
                .parse::<u64>()
                .expect("milliseconds");
            new.duration_us = 1_000 * micros;
        } else {
            if let Some(mode) = value("pfc.mode") {
                Self::set(&mut new.pfc, "mode", &format!("\"{mode}\""));
            }
            assert!(alternative.contains("rule = \"mellanox\""), "{alternative}");
            Self::set(&mut new.watchdog, "rule", "\"mellanox\"");
        }
        new
    }
}

#[test]
fn each_alternative_for_a_blind_watchdog_finds_the_storm() {
    let mut tried = 0;
    for (gbps, times) in [
        (100, (100, 200)),
        (100, (40, 400)),
        (25, (300, 600)),
        (400, (20, 30)),
        (10, (1_000, 1_000)),
    ] {
        for mode in ["standard", "once", "until-xon"] {
            let mut before = Storm::new(gbps, times);
            Storm::set(&mut before.pfc, "mode", &format!("\"{mode}\""));
            let Some(help) = before.blind() else {
                panic!("{}", before.text())
            };
            for alternative in help.split("; or ") {
                let after = before.follow(alternative);
                assert_eq!(after.blind(), None, "{help}\n{}", after.text());
                assert!(after.is_found(), "{help}\n{}", after.text());
                tried += 1;
            }
        }
    }
    assert!(tried >= 25, "{tried}");
}

#[test]
fn a_duration_that_is_advised_is_long_enough_for_a_storm() {
    for (poll, detection) in [(2_000, 12_000), (5_000, 20_000), (11_000, 11_000)] {
        let mut before = Storm::new(100, (poll, detection));
        Storm::set(&mut before.watchdog, "rule", "\"mellanox\"");
        let help = before.blind().expect("the run is too short");
        let (alternative, _) = help.split_once(';').expect("two alternatives");
        let mut after = before.follow(alternative);
        // The storm itself begins later.
        after.duration_us += 10;
        assert_eq!(after.blind(), None, "{help}");
        assert!(after.is_found(), "{help}");
    }
}

/// A switch that is paused itself looks like a storm; a watchdog at ports to hosts does not report it.
#[test]
fn a_watchdog_at_ports_to_hosts_reports_no_switch() {
    for (gbps, hosts) in [(100, 3), (25, 5), (400, 4)] {
        let source = |ports: &str| {
            format!(
                "duration = \"4ms\"\n[topology]\nbuilder = \"two-switch\"\nleft = \"H0..H{}\"\nright = [\"R0\", \"R1\"]\nrate = \"{gbps}Gbps\"\n\
                 delay = \"500ns\"\n[slow_receiver]\nhosts = \"R0\"\ndrain_rate = \"0Gbps\"\nxoff = \"20KB\"\n\
                 [pfc]\nxoff = \"50KB\"\n[switch.watchdog]\naction = \"alert\"\nrule = \"mellanox\"\npoll_interval = \"100us\"\ndetection_time = \"200us\"\n\
                 restoration_time = \"200us\"\n{ports}\n[[scheme]]\nname = \"PFC\"\n\
                 [[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H0..H{}\"\nto = \"R0\"\n",
                hosts - 1,
                hosts - 1
            )
        };
        let outcome = run(&source(""));
        let storms = of_kind(&outcome, "pfc-storm");
        let of_switch = |it: &&&Warning| help(it).contains(" is a switch: ");
        let says = "with switch.watchdog.ports = \"hosts\" only ports to hosts have a";
        let first = storms.iter().find(of_switch).expect("a switch is paused");
        assert!(help(first).contains(says), "{first:?}");
        let outcome = run(&source("ports = \"hosts\""));
        let storms = of_kind(&outcome, "pfc-storm");
        assert!(!storms.is_empty(), "the receiver is still reported");
        assert_eq!(storms.iter().filter(of_switch).count(), 0);
    }
}
