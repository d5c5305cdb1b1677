//! Flows that wait for what will not come, and what is said of them.

use unpause_scenario::Summary;

use crate::small::{messages, run};

/// H0 may have one packet in flight, and its ACKs meet a queue that holds two frames and is mostly full.
const LOST_ACKS: &str = r#"
duration = "20ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "40Gbps"
delay = "1us"

[host]
nic = "hpcc"
ack_priority = "flow"
retransmit_timeout = "TIMEOUT"

[switch]
lossless = []
lossy_queue = "2100B"

[[scheme]]
name = "HPCC"
congestion_control = "hpcc"

[scheme.hpcc]
window = "1KB"

[[traffic]]
name = "out"
kind = "burst"
from = "H0"
to = "H1"
size = "20KB"
start = "20us"

[[traffic]]
name = "first"
kind = "flow"
from = "H2"
to = "H0"
stop = "100us"
controlled = false

[[traffic]]
name = "second"
kind = "flow"
from = "H3"
to = "H0"
start = "104.8ns"
stop = "100us"
controlled = false
"#;

/// As in HPCC's simulator, where there is no timeout.
#[test]
fn a_flow_that_waits_forever_is_named() {
    let outcome = run(&LOST_ACKS.replace("TIMEOUT", "1000s"));
    let stuck = outcome.warnings.iter();
    let stuck: Vec<_> = stuck.filter(|it| it.kind == "stuck-flows").collect();
    let [out, ..] = &*stuck else {
        panic!("{:?}", messages(&outcome))
    };
    let expected = "flow 2 of traffic `out` (H0->H1) has been waiting for an ACK since 49.0296us, all that it may send has been sent";
    assert_eq!(out.message, expected);
    let expected = "if an ACK, the last packet or a resent packet was lost, only the timeout recovers: set \
                    host.retransmit_timeout (now 1000s) shorter than the run; with host.nak_interval receivers also \
                    report a resent packet that is lost again";
    assert_eq!(out.help.as_deref(), Some(expected));
}

/// Three senders lose their last packets to a short queue.
const LOST_ENDS: &str = r#"
duration = "DURATION"

[topology]
builder = "single-switch"
hosts = 4
rate = "40Gbps"
delay = "1us"

[switch]
lossless = []
lossy_queue = "2100B"

[[scheme]]
name = "PFC"
congestion_control = "none"
loss_recovery = "selective-repeat"
selective-repeat.rto_low = "TIMEOUT"
selective-repeat.rto_high = "TIMEOUT"

[[traffic]]
name = "in"
kind = "burst"
from = ["H1", "H2", "H3"]
to = "H0"
size = "20KB"
start = "900us"
"#;

/// Since when such a flow waits, its own timeout says.
#[test]
fn a_flow_that_waits_for_selective_repeat_is_named() {
    let stuck = |duration: &str, timeout: &str| {
        let text = LOST_ENDS.replace("DURATION", duration);
        let outcome = run(&text.replace("TIMEOUT", timeout));
        let stuck = outcome.warnings.into_iter();
        stuck
            .filter(|it| it.kind == "stuck-flows")
            .collect::<Vec<_>>()
    };
    let [out] = &*stuck("20ms", "1000s") else {
        panic!("flows are stuck");
    };
    // The last ACK arrives then.
    let expected = "flow 1 of traffic `in` (H2->H0) has been waiting for an ACK since 904.6552us, all that it may send \
                    has been sent; so has 1 other";
    assert_eq!(out.message, expected);
    let expected = "if an ACK, the last packet or a resent packet was lost, only the timeout recovers: set rto_low and \
                    rto_high of [scheme.selective-repeat] (now 1000s and 1000s) shorter than the run";
    assert_eq!(out.help.as_deref(), Some(expected));
    // These have waited for a moment.
    assert!(stuck("920us", "30us").is_empty());
}

/// The link of H1 fails for good while a flow comes to it.
const LOST_LINK: &str = r#"
duration = "5ms"

[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"

[host]
RETRIES

[[scheme]]
name = "PFC"
congestion_control = "none"
RECOVERY

[[traffic]]
name = "first"
kind = "flow"
from = "H0"
to = "H1"
size = "1MB"

[[traffic]]
name = "next"
kind = "flow"
from = "H0"
to = "H2"
size = "1MB"
after = "first"
after_end = "acknowledged"

[[event]]
kind = "down"
link = "S0-H1"
at = "50us"
"#;

/// Hints name the keys of the loss recovery in use, and do not promise that flows end which have given up.
#[test]
fn hints_about_a_lost_link_hold() {
    let said = |retries: &str, recovery: &str| {
        let text = LOST_LINK.replace("RETRIES", retries);
        let outcome = run(&text.replace("RECOVERY", recovery));
        let all = outcome.warnings.into_iter();
        all.map(|it| (it.kind, it.help.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let selective = "loss_recovery = \"selective-repeat\"";
    let go_back = "host.retransmit_timeout";
    let repeat = "rto_low and rto_high of [scheme.selective-repeat]";
    for (recovery, has, lacks) in [("", go_back, repeat), (selective, repeat, go_back)] {
        let retries = match recovery {
            "" => "retry_count = 2\nretransmit_timeout = \"100us\"",
            _ => "retry_count = 2",
        };
        let all = said(retries, recovery);
        let of = |kind: &str| all.iter().find(|it| it.0 == kind).map(|it| it.1.as_str());
        for kind in ["gave-up", "link-down"] {
            let help = of(kind).expect("it is said");
            assert!(
                help.contains(has) && !help.contains(lacks),
                "{kind}: {help}"
            );
        }
        assert_eq!(of("unfinished-flows"), None);
        assert!(of("waiting-flows").is_some_and(|it| it.contains("that gave up never end")));
    }
    // Nothing was dropped by a queue; the last ACK was on the wire that failed.
    for (retries, recovery) in [
        ("retransmit_timeout = \"1000s\"", ""),
        (
            "",
            "loss_recovery = \"selective-repeat\"\nselective-repeat.rto_low = \"1000s\"\nselective-repeat.rto_high = \"1000s\"",
        ),
    ] {
        let all = said(retries, recovery);
        let of = |kind: &str| all.iter().find(|it| it.0 == kind).map(|it| it.1.as_str());
        let cut_off = "no path joins its hosts at the end, because links are down";
        assert!(
            of("stuck-flows").is_some_and(|it| it.starts_with(cut_off)),
            "{all:?}"
        );
        assert!(
            of("waiting-flows")
                .is_some_and(|it| it.contains("unless the flows that they follow are stuck"))
        );
    }
}

/// The one timer of that NIC is not set for a flow beside it either.
#[test]
fn a_flow_whose_nic_sleeps_is_named() {
    let paced = "\n[[traffic]]\nname = \"paced\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\n\
                 rate_limit = \"100Mbps\"\ncontrolled = false\n";
    let outcome = run(&(LOST_ACKS.replace("TIMEOUT", "1000s") + paced));
    let said = messages(&outcome);
    let named = said.iter().find(|it| it.contains("traffic `paced`"));
    let expected = "stuck-flows: flow 1 of traffic `paced` (H0->H1) has been waiting for its NIC since \
                    83.84us, whose timer was used by another flow that waits for an ACK";
    assert_eq!(named.map(String::as_str), Some(expected));
}

#[test]
fn after_a_timeout_a_flow_goes_on_though_its_acks_were_lost() {
    let outcome = run(&LOST_ACKS.replace("TIMEOUT", "1ms"));
    let said = messages(&outcome);
    // The senders that filled the queue have fixed rates.
    let [drops, phase] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(phase.starts_with("phase: "), "{phase}");
    // Two of the frames were ACKs.
    assert!(
        drops.starts_with("queue-drops: ") && drops.contains(" 2 were ACKs"),
        "{drops}"
    );
    assert_eq!(Summary::of(&outcome.tables)[0].flows_completed, 1);
}

/// A retransmitted packet is lost here, and no ACK: receivers that report gaps again recover without a timeout.
#[test]
fn a_resent_packet_that_is_lost_again_is_among_the_causes() {
    let source = r#"
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 2
rate = "100Gbps"
delay = "1us"
[host]
retransmit_timeout = "67ms"
INTERVAL
[[scheme]]
name = "go-back-N"
[[traffic]]
name = "f"
kind = "flow"
from = "H0"
to = "H1"
size = "10MB"
[[event]]
kind = "error-rate"
link = "H0->S0"
ber = 1e-7
"#;
    let help = |interval: &str| {
        let outcome = run(&source.replace("INTERVAL", interval));
        let completed = Summary::of(&outcome.tables)[0].flows_completed;
        let mut all = outcome.warnings.into_iter();
        let stuck = all.find(|it| it.kind == "stuck-flows");
        (completed, stuck.and_then(|it| it.help))
    };
    let (completed, said) = help("");
    assert_eq!(completed, 0);
    let said = said.expect("the flow is stuck");
    assert!(
        said.starts_with("if an ACK, the last packet or a resent packet was lost"),
        "{said}"
    );
    assert!(
        said.ends_with(
            "with host.nak_interval receivers also report a resent packet that is lost again"
        ),
        "{said}"
    );
    assert_eq!(help("nak_interval = \"20us\""), (1, None));
}

/// A flow that never started names the one that it waits for, and since when that waits.
#[test]
fn a_flow_that_follows_names_what_the_other_waits_for() {
    let waiting = |retries: &str| {
        let text = LOST_LINK.replace("RETRIES", retries);
        let outcome = run(&text.replace("RECOVERY", ""));
        let mut all = outcome.warnings.into_iter();
        all.find(|it| it.kind == "waiting-flows")
            .map(|it| it.message)
    };
    let gave_up = waiting("retry_count = 2\nretransmit_timeout = \"100us\"").expect("one waits");
    let (_, first) = gave_up
        .split_once("had not ended: flow 0 of `first` (")
        .expect("its flow");
    assert!(first.contains(") gave up at "), "{gave_up}");
    let waits = waiting("retransmit_timeout = \"1000s\"").expect("one waits");
    assert!(
        waits.contains(") has been waiting for an ACK until its timeout since "),
        "{waits}"
    );
}
