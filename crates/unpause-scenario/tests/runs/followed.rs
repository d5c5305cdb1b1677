//! Advice about PFC's memory, followed to the letter: then nothing is lost any more.

use std::collections::BTreeMap;

use unpause_scenario::{Outcome, Warning};

use crate::small::{parsed, run};

/// Hosts that send to one in each of some priorities.
#[derive(Clone)]
struct Incast {
    gbps: u64,
    delay_ns: u64,
    payload: u64,
    hosts: u64,
    priorities: &'static [u8],
    /// Keys of `[switch]` and `[pfc]`, with their values.
    keys: BTreeMap<String, String>,
    /// Headroom of an override at S0->H1.
    own_headroom: Option<String>,
}

impl Incast {
    /// The `number`-th of a kind; rates, lengths and frames vary with the number.
    fn new(number: usize) -> Self {
        let gbps = [10, 25, 40, 100, 200, 400, 800][number % 7];
        let it = Self {
            gbps,
            delay_ns: [50, 500, 5_000, 1_000, 20_000][number % 5],
            payload: [1_000, 4_096, 256, 9_000][number % 4],
            hosts: [3, 5, 9][number % 3],
            priorities: [&[3][..], &[3, 4], &[1, 3, 5]][number / 2 % 3],
            keys: BTreeMap::new(),
            own_headroom: None,
        };
        let reaction = [0, 200, 1_500][number / 3 % 3];
        let it = it.with("pfc.reaction", format!("\"{reaction}ns\""));
        it.with("switch.lossless", format!("{:?}", it.priorities))
    }

    fn with(&self, key: &str, value: String) -> Self {
        let mut new = self.clone();
        new.keys.insert(key.to_owned(), value);
        new
    }

    fn bytes(&self, key: &str, bytes: u64) -> Self {
        self.with(key, format!("\"{bytes}B\""))
    }

    /// Headroom of a link by IEEE 802.1Q.
    fn need(&self) -> u64 {
        let reaction = self.keys["pfc.reaction"].trim_matches('"');
        let reaction: u64 = reaction.trim_end_matches("ns").parse().expect("a number");
        let in_flight = (2 * self.delay_ns + reaction) * self.gbps / 8;
        in_flight + 2 * (self.payload + 48 + 20) + 84
    }

    /// Ports with each of their priorities.
    fn places(&self) -> u64 {
        self.hosts * self.priorities.len() as u64
    }

    fn xoff(&self) -> u64 {
        (4 * self.payload).max(20_000).max(self.need() / 2)
    }

    fn text(&self) -> String {
        let bytes = 15 * (self.xoff() + self.need());
        let micros = (bytes * 8 / self.gbps / 1_000 + self.delay_ns / 50).clamp(200, 6_000);
        let table = |name: &str| -> String {
            let own = self.keys.iter().filter_map(|(key, value)| {
                let key = key.strip_prefix(name)?.strip_prefix('.')?;
                Some(format!("{key} = {value}\n"))
            });
            format!("[{name}]\n{}", own.collect::<String>())
        };
        let traffic = |priority: &u8| {
            format!(
                "[[traffic]]\nname = \"t{priority}\"\nkind = \"flow\"\nfrom = \"H1..H{}\"\nto = \"H0\"\npriority = {priority}\n",
                self.hosts - 1
            )
        };
        let own = self.own_headroom.as_ref().map_or(String::new(), |bytes| {
            format!("[[override]]\nports = \"S0->H1\"\nheadroom = \"{bytes}\"\n")
        });
        format!(
            "duration = \"{micros}us\"\n[topology]\nbuilder = \"single-switch\"\nhosts = {}\nrate = \"{}Gbps\"\ndelay = \"{}ns\"\n\
             [host]\npayload = \"{}B\"\n{}{}{own}[[scheme]]\nname = \"PFC\"\n{}",
            self.hosts,
            self.gbps,
            self.delay_ns,
            self.payload,
            table("switch"),
            table("pfc"),
            self.priorities.iter().map(traffic).collect::<String>(),
        )
    }

    /// The scenario with all settings of one alternative, as they are written there; `None` if it names none.
    fn follow(&self, alternative: &str) -> Option<Self> {
        let mut new = self.clone();
        let mut followed = false;
        let mut rest = alternative;
        while let Some((key, value, after)) = next_setting(rest) {
            rest = after;
            followed = true;
            let value = value.replace(' ', "");
            let written = match value.ends_with('B') {
                true => format!("\"{value}\""),
                false => value.clone(),
            };
            if key == "[[override]]" {
                new.own_headroom = Some(value);
            } else if let Some(rate) = key.strip_prefix("pfc.headroom.") {
                new = new.with("pfc.headroom", format!("{{ {rate} = {written} }}"));
            } else {
                new = new.with(key, written);
            }
        }
        if let Some(key) = alternative.strip_prefix("remove ") {
            let named = key.split(':').next().unwrap_or_default();
            let named = if named == "it" { "pfc.headroom" } else { named };
            followed = true;
            match &new.own_headroom {
                Some(_) => new.own_headroom = None,
                None => new.keys.retain(|key, _| !key.starts_with(named)),
            }
        }
        followed.then_some(new)
    }
}

/// The first key of a text with the value that is advised for it, and the text after that.
fn next_setting(text: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once(" to ")?;
    let key = before.rsplit(' ').next()?;
    let end = [" or more", " or less"].map(|words| after.find(words));
    let end = end.into_iter().flatten().min()?;
    Some((key, &after[..end], &after[end..]))
}

fn losses(outcome: &Outcome) -> Vec<&Warning> {
    let all = outcome.warnings.iter();
    let kinds = ["headroom-drops", "lossless-drops", "small-buffer"];
    all.filter(|it| kinds.contains(&&*it.kind)).collect()
}

/// Follows each alternative of all advice on losses; answers how many there were.
fn tried(before: &Incast) -> usize {
    let outcome = run(&before.text());
    let lost = losses(&outcome);
    if lost.iter().all(|it| it.kind == "small-buffer") {
        return 0;
    }
    let mut advice: Vec<&str> = lost.iter().filter_map(|it| it.help.as_deref()).collect();
    advice.dedup();
    let mut number = 0;
    for alternative in advice.iter().flat_map(|it| it.split(", or ")) {
        let after = before.follow(alternative);
        let after = after.unwrap_or_else(|| panic!("no number in `{alternative}`"));
        let outcome = run(&after.text());
        let left = losses(&outcome);
        assert!(
            left.is_empty(),
            "{}\n{alternative}\n{left:?}",
            before.text()
        );
        number += 1;
    }
    number
}

/// Follows the advice of twelve scenarios of a kind, of which so many at least must lose packets.
fn follow_all(least: usize, kind: impl Fn(usize, &Incast) -> Incast) {
    let all = (0..12).map(|number| tried(&kind(number, &Incast::new(number))));
    let tried = all.filter(|alternatives| *alternatives > 0).count();
    assert!(tried >= least, "{tried} of them lost packets");
}

#[test]
fn an_xoff_or_a_buffer_that_is_advised_loses_nothing() {
    follow_all(9, |number, it| {
        let shared = it.xoff() * (it.hosts - 1) * it.priorities.len() as u64;
        let parts = [3, 7, 9][number % 3];
        let buffer = it.need() * it.places() + shared * parts / 10;
        let it = it.bytes("switch.buffer", buffer);
        it.bytes("pfc.xoff", it.xoff())
    });
}

/// XON that is written stays below.
#[test]
fn an_xon_that_is_written_is_lowered_with_xoff() {
    follow_all(9, |_, it| {
        let shared = it.xoff() * (it.hosts - 1) * it.priorities.len() as u64;
        let buffer = it.need() * it.places() + shared * 8 / 10;
        let it = it.bytes("switch.buffer", buffer);
        let it = it.bytes("pfc.xon", it.xoff());
        it.bytes("pfc.xoff", it.xoff())
    });
}

#[test]
fn a_headroom_that_is_advised_loses_nothing() {
    follow_all(8, |number, it| {
        let percent = [10, 50, 90][number % 3];
        let it = it.bytes("pfc.headroom", it.need() * percent / 100);
        it.bytes("pfc.xoff", it.xoff())
    });
    follow_all(6, |_, it| {
        let mut it = it.bytes("pfc.xoff", it.xoff());
        it.own_headroom = Some(format!("{}B", it.need() / 3));
        it
    });
    follow_all(5, |_, it| {
        let written = format!("{{ \"{}Gbps\" = \"{}B\" }}", it.gbps, it.need() / 2);
        it.with("pfc.headroom", written)
            .bytes("pfc.xoff", it.xoff())
    });
    follow_all(9, |number, it| {
        let delays = 1 + number as u64 % 2;
        let it = it.with("pfc.headroom_delays", delays.to_string());
        it.bytes("pfc.xoff", it.xoff())
    });
}

/// Where the buffer is limited, a larger headroom needs a larger buffer, too.
#[test]
fn a_headroom_and_a_buffer_are_advised_together() {
    follow_all(8, |_, it| {
        let headroom = it.need() / 3;
        let shared = it.xoff() * it.places();
        let it = it.bytes("pfc.headroom", headroom);
        let it = it.bytes("switch.buffer", headroom * it.places() + shared);
        it.bytes("pfc.xoff", it.xoff())
    });
    for reserve in [false, true] {
        follow_all(4, |number, it| {
            let headroom = it.need() / 3;
            let shared = 2 * it.xoff() * it.places();
            let it = it.bytes("pfc.headroom", headroom);
            let buffer = (headroom + 20_000) * it.places() + shared;
            let it = it.bytes("switch.buffer", buffer);
            let it = match reserve {
                true => it.bytes("pfc.reserve", 20_000),
                false => it,
            };
            it.with("pfc.dynamic_shift", (number % 3).to_string())
        });
    }
}

#[test]
fn a_pool_of_headroom_that_is_advised_loses_nothing() {
    for percent in [80, 110] {
        follow_all(8, |_, it| {
            let it = it.bytes("pfc.headroom", it.need() * percent / 100);
            let it = it.bytes("pfc.headroom_pool", it.need() * 3 / 2);
            it.bytes("pfc.xoff", it.xoff())
        });
    }
}

/// The longest link and the switch with the most ports decide: one setting is of all.
#[test]
fn one_setting_is_enough_for_all_links_and_switches() {
    let fabric = |buffer: &str, xoff: &str, headroom: &str| {
        let written = [("xoff", xoff), ("headroom", headroom)];
        let written = written.iter().filter(|(_, value)| !value.is_empty());
        let pfc = written.map(|(key, value)| format!("{key} = \"{value}\"\n"));
        format!(
            "duration = \"2ms\"\n[topology]\nbuilder = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
             host_rate = \"100Gbps\"\nfabric_rate = \"200Gbps\"\nhost_delay = \"500ns\"\ndelay = \"10us\"\n[switch]\nbuffer = \"BUFFER\"\n[pfc]\n{}\
             [[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H1..H7\"\nto = \"H0\"\n",
            pfc.collect::<String>()
        )
        .replace("BUFFER", buffer)
    };
    let outcome = run(&fabric("9MB", "300KB", "30KB"));
    let lost = losses(&outcome);
    let help = lost
        .iter()
        .find(|it| it.kind == "headroom-drops")
        .and_then(|it| it.help.clone());
    let help = help.expect("packets are lost");
    let (key, value, _) = next_setting(&help).expect("a setting");
    assert_eq!(key, "pfc.headroom", "{help}");
    let outcome = run(&fabric("9MB", "300KB", &value.replace(' ', "")));
    assert_eq!(losses(&outcome), Vec::<&Warning>::new());
    // XOFF of the leaf with the most inputs and the longest links.
    let before = parsed(&fabric("4MB", "900KB", "")).warnings();
    let help = before[0].help.clone().expect("advice");
    let (key, value, _) = next_setting(&help).expect("a setting");
    assert_eq!(key, "pfc.xoff", "{help}");
    let outcome = run(&fabric("4MB", &value.replace(' ', ""), ""));
    assert_eq!(losses(&outcome), Vec::<&Warning>::new());
}

#[test]
fn a_receive_buffer_that_is_advised_loses_nothing() {
    for (gbps, micros) in [(25, 1), (100, 5), (400, 1)] {
        let source = |buffer: &str| {
            format!(
                "duration = \"2ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 3\nrate = \"{gbps}Gbps\"\ndelay = \"{micros}us\"\n\
                 [slow_receiver]\nhosts = \"H0\"\ndrain_rate = \"5Gbps\"\nxoff = \"50KB\"\n{buffer}\n[[scheme]]\nname = \"PFC\"\n\
                 [[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H1..H2\"\nto = \"H0\"\n"
            )
        };
        let outcome = run(&source("buffer = \"52KB\""));
        let lost = losses(&outcome);
        let said = ": slow_receiver.buffer 52 KB was full, with XOFF at 50 KB of a priority; ";
        assert!(lost[0].message.contains(said), "{lost:?}");
        let help = lost[0].help.as_deref().expect("advice");
        let (key, value, rest) = next_setting(help).expect("a setting");
        assert_eq!(key, "slow_receiver.buffer");
        assert!(rest.starts_with(" or more, or remove it"), "{help}");
        for buffer in [&*format!("buffer = \"{}\"", value.replace(' ', "")), ""] {
            let outcome = run(&source(buffer));
            assert_eq!(losses(&outcome), Vec::<&Warning>::new());
        }
    }
}
