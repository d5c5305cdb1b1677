//! Thresholds that no queue reaches, and losses with their reason; each piece of advice is followed, and helps.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use unpause_scenario::{Outcome, Warning};
use unpause_text::count::count;

use crate::small::{parsed, run};

/// Four senders of 10 Gb/s to one.
const INCAST: &str = r#"
duration = "4ms"
[topology]
builder = "single-switch"
hosts = 5
rate = "10Gbps"
delay = "10us"
[switch]
lossless = []
SWITCH
[[scheme]]
name = "S"
SCHEME
[[traffic]]
name = "t"
kind = "flow"
from = "H1..H4"
to = "H0"
TRAFFIC
"#;

fn incast(switch: &str, scheme: &str, traffic: &str) -> String {
    let filled = [("SWITCH", switch), ("SCHEME", scheme), ("TRAFFIC", traffic)];
    filled.iter().fold(INCAST.to_owned(), |text, (name, by)| {
        text.replace(&format!("\n{name}\n"), &format!("\n{by}\n"))
    })
}

const DCTCP: &str = "congestion_control = \"dctcp\"\ndctcp = { k = \"250KB\" }";
const DCQCN: &str =
    "congestion_control = \"dcqcn\"\ndcqcn = { kmin = \"250KB\", kmax = \"1MB\", pmax = 0.1 }";

fn of_kind<'a>(all: &'a [Warning], kind: &str) -> Vec<&'a Warning> {
    all.iter().filter(|it| it.kind == kind).collect()
}

fn unmarked(outcome: &Outcome) -> Option<&str> {
    let said = outcome.warnings.iter().map(|it| it.message.as_str());
    said.into_iter()
        .find(|it| it.contains("no packet was marked"))
}

#[test]
fn a_threshold_above_the_limit_of_its_queue_says_so_before_and_after_the_run() {
    let share = "the 117.7 KB that lossy_alpha leaves one queue, alpha B / (1 + alpha) with alpha = 1/16, B = 2 MB";
    for (switch, scheme, key, begins) in [
        (
            "lossy_queue = \"200KB\"",
            DCTCP,
            "dctcp =",
            "K 250 KB is above lossy_queue 200 KB",
        ),
        (
            "lossy_queue = \"200KB\"",
            DCQCN,
            "dcqcn =",
            "kmin 250 KB is above lossy_queue 200 KB",
        ),
        (
            "lossy_queue = \"250KB\"",
            DCTCP,
            "dctcp =",
            "K 250 KB is not below lossy_queue 250 KB",
        ),
        (
            "buffer = \"2MB\"\nlossy_alpha = \"1/16\"",
            DCTCP,
            "dctcp =",
            &format!("K 250 KB is above {share}"),
        ),
        (
            "lossy_queue_packets = 150",
            DCTCP,
            "dctcp =",
            "K 250 KB is above lossy_queue_packets 150 (218.1 KB)",
        ),
        (
            "lossy_queue = \"200KB\"",
            "congestion_control = \"ecn-tcp\"",
            "[[scheme]]",
            "K 250 KB is above lossy_queue 200 KB",
        ),
        (
            "lossy_queue = \"200KB\"",
            "congestion_control = \"dcqcn\"\nmarking = \"ecn-sharp\"\necn-sharp = { signal = \"queue-length\", \
             pst_target = \"170us\", ins_target = \"300us\" }",
            "ecn-sharp =",
            "pst_target as bytes at the link's rate, 212.5 KB is above lossy_queue 200 KB",
        ),
        (
            "model = \"cioq\"",
            DCTCP,
            "dctcp =",
            "K 250 KB is above switch.cioq.output_buffer 150 KB",
        ),
    ] {
        let source = incast(switch, scheme, "");
        let before = parsed(&source).warnings();
        let [it] = &of_kind(&before, "unreachable-threshold")[..] else {
            panic!("{switch}: {before:?}")
        };
        let line = 1 + source[..source.find(key).expect("the key")]
            .matches('\n')
            .count();
        let place = format!("test.toml:{line}: {begins}");
        assert!(it.message.starts_with(&place), "{}", it.message);
        let after = run(&source);
        let message = unmarked(&after).expect("nothing is marked");
        assert!(
            message.starts_with(&format!("test.toml:{line}: no packet was marked: {begins}")),
            "{message}"
        );
        assert!(
            of_kind(&after.warnings, "unreachable-threshold").is_empty(),
            "said once"
        );
    }
    // Where it can act, there is no warning.
    for switch in [
        "lossy_queue = \"600KB\"",
        "buffer = \"2MB\"\nlossy_alpha = \"1/2\"",
    ] {
        for scheme in [DCTCP, DCQCN] {
            let outcome = run(&incast(switch, scheme, ""));
            assert_eq!(unmarked(&outcome), None, "{switch}");
            assert!(of_kind(&outcome.warnings, "unreachable-threshold").is_empty());
        }
    }
}

/// Time is no queue length.
#[test]
fn markings_by_time_have_no_threshold_in_bytes() {
    for marking in ["tcn", "codel", "ecn-sharp"] {
        let scheme = format!("congestion_control = \"dcqcn\"\nmarking = \"{marking}\"");
        let source = incast("lossy_queue = \"50KB\"", &scheme, "");
        let before = parsed(&source).warnings();
        assert!(
            of_kind(&before, "unreachable-threshold").is_empty(),
            "{marking}"
        );
    }
}

#[test]
fn without_a_limit_the_longest_queue_is_named_beside_the_threshold() {
    let scheme = "congestion_control = \"dctcp\"\ndctcp = { k = \"900KB\" }";
    let outcome = run(&incast("lossy_queue = \"2MB\"", scheme, "size = \"20KB\""));
    let message = unmarked(&outcome).expect("nothing is marked");
    assert!(
        message.starts_with("no packet was marked: no queue was longer than "),
        "{message}"
    );
    assert!(message.ends_with(", K is 900 KB"), "{message}");
    let udp = run(&incast(
        "lossy_queue = \"2MB\"",
        "marking = \"red\"",
        "transport = \"udp\"",
    ));
    assert_eq!(
        unmarked(&udp),
        Some("no packet was marked: no packet is ECN-capable")
    );
}

/// Every setting that the advice names, as it is written in the advice, in place of the old one.
#[test]
fn advice_about_thresholds_helps_when_it_is_followed_to_the_letter() {
    let advice = |source: &str| {
        let before = parsed(source).warnings();
        of_kind(&before, "unreachable-threshold")[0]
            .help
            .clone()
            .expect("advice")
    };
    let set = |text: &str, old: &str, new: &str| {
        assert!(text.contains(old), "{old} in {text}");
        text.replace(old, new)
    };
    let source = incast("lossy_queue = \"200KB\"", DCTCP, "");
    let help =
        "set k of [scheme.dctcp] to 100 KB or less, or raise switch.lossy_queue to 500 KB or more";
    assert_eq!(advice(&source), help);
    let of_red = incast("lossy_queue = \"200KB\"", DCQCN, "");
    let help = "set kmin of [scheme.dcqcn] to 50 KB or less, kmax to 100 KB or less, or raise switch.lossy_queue to 500 KB or more";
    assert_eq!(advice(&of_red), help);
    let alpha = incast("buffer = \"2MB\"\nlossy_alpha = \"1/16\"", DCTCP, "");
    let help =
        "set k of [scheme.dctcp] to 58.8 KB or less, or raise switch.lossy_alpha to 1/2 or more";
    assert_eq!(advice(&alpha), help);
    let packets = incast("lossy_queue_packets = 150", DCTCP, "");
    assert!(advice(&packets).ends_with("raise switch.lossy_queue_packets to 344 or more"));
    let kmin = set(
        &of_red,
        "kmin = \"250KB\", kmax = \"1MB\"",
        "kmin = \"50KB\", kmax = \"100KB\"",
    );
    for followed in [
        set(&source, "k = \"250KB\"", "k = \"100KB\""),
        set(
            &source,
            "lossy_queue = \"200KB\"",
            "lossy_queue = \"500KB\"",
        ),
        kmin,
        set(
            &of_red,
            "lossy_queue = \"200KB\"",
            "lossy_queue = \"500KB\"",
        ),
        set(&alpha, "k = \"250KB\"", "k = \"58.8KB\""),
        set(&alpha, "lossy_alpha = \"1/16\"", "lossy_alpha = \"1/2\""),
        set(
            &packets,
            "lossy_queue_packets = 150",
            "lossy_queue_packets = 344",
        ),
    ] {
        let outcome = run(&followed);
        assert_eq!(unmarked(&outcome), None, "{followed}");
        assert!(
            of_kind(&outcome.warnings, "unreachable-threshold").is_empty(),
            "{followed}"
        );
    }
}

/// A limit of some queues is named with these.
#[test]
fn a_limit_of_one_switch_is_named_with_its_queue() {
    let own = "lossy_queue = \"600KB\"\n[[override]]\nports = \"S0->H0\"\nqueue_limit = \"100KB\"";
    let before = parsed(&incast(own, DCTCP, "")).warnings();
    let [it] = &of_kind(&before, "unreachable-threshold")[..] else {
        panic!("{before:?}")
    };
    let said = "K 250 KB is above queue_limit 100 KB of its override, at S0->H0 of 5 queues: packets are dropped before any is \
                marked";
    assert!(it.message.ends_with(said), "{}", it.message);
}

fn drops(outcome: &Outcome) -> Vec<&str> {
    let all = outcome.warnings.iter();
    let all = all.filter(|it| ["queue-drops", "lossless-drops"].contains(&&*it.kind));
    all.map(|it| it.message.as_str()).collect()
}

#[test]
fn losses_at_a_queue_have_their_place_their_reason_and_its_numbers() {
    let udp = "transport = \"udp\"";
    for (switch, scheme, reason) in [
        ("lossy_queue = \"200KB\"", "", "lossy_queue 200 KB was full"),
        (
            "lossy_queue_packets = 50",
            "",
            "lossy_queue_packets 50 (52.4 KB) was full",
        ),
        (
            "buffer = \"2MB\"\nlossy_alpha = \"1/16\"",
            "",
            "lossy_alpha, 1/16 of the free shared buffer, of 2 MB when empty, was used up",
        ),
        (
            "buffer = \"100KB\"",
            "",
            "the 100 KB of switch.buffer that headroom leaves was full",
        ),
        (
            "lossy_queue = \"500KB\"",
            "marking = \"wred\"\nwred = { kmin = \"50KB\", kmax = \"100KB\", pmax = 1 }",
            "WRED, which drops what is not ECN-capable from a queue of 50 KB on and all above 100 KB",
        ),
        (
            "model = \"cioq\"",
            "",
            "switch.cioq.input_buffer 150 KB was full",
        ),
    ] {
        let outcome = run(&incast(switch, scheme, udp));
        let [message] = drops(&outcome)[..] else {
            panic!("{switch}: {:?}", outcome.warnings)
        };
        assert!(
            message.contains(" packets were dropped at S0->H0, priority 3"),
            "{message}"
        );
        assert!(message.contains(&format!(": {reason}")), "{message}");
    }
}

const SELECTIVE: &str = "loss_recovery = \"selective-repeat\"";

fn of_trimming(outcome: &Outcome) -> (&str, &str) {
    let [one] = &of_kind(&outcome.warnings, "trimmed")[..] else {
        panic!("{:?}", outcome.warnings)
    };
    assert!(one.note);
    (&one.message, one.help.as_deref().unwrap_or_default())
}

#[test]
fn trimming_has_its_place_its_reason_and_the_setting_that_decides_it() {
    for (switch, reason) in [
        (
            "lossy_queue = \"100KB\"",
            "lossy_queue 100 KB was full (longest queue 99",
        ),
        (
            "lossy_queue_packets = 50",
            "lossy_queue_packets 50 (52.4 KB) was full (longest queue 52.4 KB)",
        ),
        (
            "buffer = \"2MB\"\nlossy_alpha = \"1/32\"",
            "lossy_alpha, 1/32 of the free shared buffer, of 2 MB when empty, was used up",
        ),
    ] {
        let outcome = run(&incast(
            &format!("{switch}\ntrimming = {{}}"),
            SELECTIVE,
            "",
        ));
        let (message, _) = of_trimming(&outcome);
        let trimmed = outcome.tables.runs.column_by_name("trimmed_packets");
        let trimmed = trimmed
            .expect("the column")
            .as_primitive::<UInt64Type>()
            .value(0);
        let begin = format!(
            "{} packets were trimmed at S0->H0, priority 3: ",
            count(trimmed)
        );
        assert!(message.starts_with(&begin), "{message}");
        assert!(message.contains(reason), "{message}");
    }
    // The size that is advised trims none.
    let burst = "size = \"100KB\"";
    let source = |limit: &str| {
        let switch = format!("lossy_queue = \"{limit}\"\ntrimming = {{}}");
        incast(&switch, SELECTIVE, burst)
    };
    let outcome = run(&source("80KB"));
    let (_, help) = of_trimming(&outcome);
    let raised = help
        .split("switch.lossy_queue to ")
        .nth(1)
        .and_then(|it| it.split(" or more").next());
    let outcome = run(&source(&raised.expect("a size").replace(' ', "")));
    assert_eq!(
        of_kind(&outcome.warnings, "trimmed"),
        Vec::<&Warning>::new()
    );
}

/// Headers stand for eight times their bytes: of four senders a port forwards all, of forty it loses some.
#[test]
fn headers_that_can_be_lost_are_foreseen_and_said_with_the_numbers() {
    let source = |hosts: u64, queue: &str| {
        let switch =
            format!("lossy_queue = \"20KB\"\ntrimming = {{ control_queue = \"{queue}\" }}");
        incast(&switch, SELECTIVE, "size = \"500KB\"")
            .replace("hosts = 5", &format!("hosts = {}", hosts + 1))
            .replace("H1..H4", &format!("H1..H{hosts}"))
    };
    let lost = |source: &str| {
        let outcome = run(source);
        let all = drops(&outcome).into_iter();
        let all: Vec<_> = all
            .filter(|it| it.contains("header, ACK or other"))
            .collect();
        all.first().map(|it| (*it).to_owned())
    };
    for (hosts, queue, is_said) in [(4, "10KB", false), (40, "10KB", true), (40, "20MB", false)] {
        let source = source(hosts, queue);
        let before = parsed(&source).warnings();
        let foreseen = of_kind(&before, "trimmed-headers");
        assert_eq!(!foreseen.is_empty(), is_said, "{hosts} {queue} {before:?}");
        let lost = lost(&source.replace("duration = \"4ms\"", "duration = \"2ms\""));
        assert_eq!(lost.is_some(), is_said, "{hosts} {queue}");
        if let ([it], Some(lost)) = (&foreseen[..], lost) {
            let says = "headers of trimmed packets can be lost before H0: 40 senders bring up to 48.8Gbps of them, more than the 10Gbps of its link";
            assert!(it.message.contains(says), "{}", it.message);
            assert!(
                it.message
                    .ends_with("switch.trimming.control_queue holds 10 KB"),
                "{}",
                it.message
            );
            assert!(
                lost.contains("its control_queue of 10 KB was full"),
                "{lost}"
            );
        }
    }
}

/// A slow receiver drops what is not lossless where its buffer ends.
#[test]
fn a_receive_buffer_that_drops_lossy_packets_says_so_with_its_numbers() {
    for (own, says) in [
        (
            "buffer = \"60KB\"",
            "its 60 KB for what is not lossless were full, and it drains 2Gbps",
        ),
        (
            "",
            "for what is not lossless were full, and it drains 2Gbps",
        ),
    ] {
        let slow = format!(
            "\n[slow_receiver]\nhosts = \"H0\"\ndrain_rate = \"2Gbps\"\nxoff = \"50KB\"\n{own}"
        );
        let udp = "transport = \"udp\"\noffered = \"2Gbps\"";
        let source = incast("", "", udp).replace("lossless = []", "lossless = [1]") + &slow;
        let outcome = run(&source);
        let [message] = drops(&outcome)[..] else {
            panic!("{:?}", outcome.warnings)
        };
        assert!(
            message.contains(
                " packets were dropped at the receive buffer of H0 (from S0), priority 3: "
            ),
            "{message}"
        );
        assert!(message.contains(says), "{message}");
    }
}

/// ACKs of TCP have the priority of their flow: both ways drop.
#[test]
fn acks_are_counted_apart_from_data() {
    let outcome = run(&incast(
        "lossy_queue = \"2100B\"",
        "congestion_control = \"dctcp\"",
        "transport = \"tcp\"\n[[traffic]]\nname = \"back\"\nkind = \"flow\"\nfrom = \"H2..H4\"\nto = \"H1\"\ntransport = \"udp\"",
    ));
    let messages = drops(&outcome);
    let last = messages.last().expect("packets are dropped");
    assert!(
        last.contains("of all frames dropped at queues"),
        "{messages:?}"
    );
    assert!(
        last.ends_with("ACKs or other control frames"),
        "{messages:?}"
    );
}

/// PAUSE of priority 3 from a slow receiver.
const SLOW: &str = r#"
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "1us"
[switch]
lossless = LOSSLESS
[[override]]
MAP
[slow_receiver]
hosts = "H0"
drain_rate = "50Gbps"
xoff = "100KB"
[[scheme]]
name = "PFC"
[[traffic]]
name = "a"
kind = "flow"
from = "H1..H2"
to = "H0"
"#;

#[test]
fn a_map_that_stops_another_queue_is_named_with_advice_that_helps() {
    for (map, lossless, followed, says) in [
        (
            "pfc_to_queue = { 3 = 1 }",
            "[3]",
            "pfc_to_queue = { 3 = 3 }",
            "PAUSE of priority 3 from H0 stops queue 1 of S0, but packets of priority 3 wait there in queue 3",
        ),
        (
            "tc_to_pg = { 3 = 4 }",
            "[3, 4]",
            "tc_to_pg = { 3 = 3 }",
            "but packets of priority 3, which count in group 4 of S0, wait there in queue 3: what fills S0 is not stopped",
        ),
    ] {
        let source = |map: &str| SLOW.replace("MAP", map).replace("LOSSLESS", lossless);
        let before = parsed(&source(map)).warnings();
        let [it] = &of_kind(&before, "map-mismatch")[..] else {
            panic!("{map}: {before:?}")
        };
        assert!(it.message.contains(says), "{}", it.message);
        assert!(it.message.starts_with("test.toml:10: "), "{}", it.message);
        let help = it.help.clone().unwrap_or_default();
        assert!(
            help.starts_with(&format!(
                "map 3 to 3 in {}",
                &map[..map.find(' ').unwrap_or(0)]
            )),
            "{help}"
        );
        let outcome = run(&source(map));
        let lost = of_kind(&outcome.warnings, "headroom-drops");
        assert!(!lost.is_empty(), "{map}: packets are lost");
        for it in lost {
            assert!(it.message.contains(says), "{}", it.message);
            assert!(
                !it.help
                    .as_deref()
                    .unwrap_or_default()
                    .contains("slow_receiver.buffer")
            );
        }
        let outcome = run(&source(followed));
        assert!(
            of_kind(&outcome.warnings, "headroom-drops").is_empty(),
            "{map}"
        );
        assert!(
            of_kind(&outcome.warnings, "map-mismatch").is_empty(),
            "{map}"
        );
    }
}

/// Two senders of 100 Gb/s to one, whose lossless queue has a limit.
const LIMITED: &str = r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "1us"
[switch]
lossless = [3]
[[override]]
ports = "S0->H0"
queue_limit = "LIMIT"
[pfc]
xoff = "XOFF"
[[scheme]]
name = "PFC"
[[traffic]]
name = "t"
kind = "flow"
from = "H1..H2"
to = "H0"
"#;

#[test]
fn an_egress_limit_below_xoff_drops_lossless_packets_and_says_so() {
    let source = |limit: &str, xoff: &str| LIMITED.replace("LIMIT", limit).replace("XOFF", xoff);
    let said = |source: &str| {
        let before = parsed(source).warnings();
        let of_kind = of_kind(&before, "egress-drops-first");
        of_kind
            .first()
            .map(|it| (it.message.clone(), it.help.clone().unwrap_or_default()))
    };
    let lost = |source: &str| {
        let outcome = run(source);
        let drops = drops(&outcome);
        drops.first().map(|it| (*it).to_owned())
    };
    let (message, help) = said(&source("200KB", "512KB")).expect("a warning");
    let says = "lossless packets are dropped at egress first: queue_limit 200 KB of its override of S0->H0, priority 3, is below \
                the 539.2 KB that 1 ingress port brings before PAUSE has stopped them (XOFF 512 KB); XOFF of one ingress is \
                above it, and can never act for one receiver";
    assert!(message.ends_with(says), "{message}");
    assert_eq!(
        help,
        "remove the limit of lossless queues, or raise queue_limit of that [[override]] to 539.2 KB or more; or lower pfc.xoff"
    );
    let drop = lost(&source("200KB", "512KB")).expect("packets are lost");
    assert!(drop.contains("of a lossless priority were dropped at S0->H0, priority 3: queue_limit 200 KB of its override was full"), "{drop}");
    // One ingress fits, two do not.
    let (message, help) = said(&source("200KB", "100KB")).expect("a warning");
    assert!(message.contains("that 2 ingress ports bring"), "{message}");
    let raised = help
        .split("to ")
        .nth(1)
        .and_then(|it| it.split(" or more").next())
        .map(|it| it.replace(' ', ""));
    let followed = source(&raised.expect("a size"), "100KB");
    assert_eq!(said(&followed), None);
    assert_eq!(lost(&followed), None);
}

/// A storm is found if each poll sees a PAUSE frame, as the documents say.
#[test]
fn a_storm_of_detection_and_two_polls_is_found_if_polls_are_no_faster_than_pause_is_repeated() {
    let storm = |poll: u64, start: u64, length: u64| {
        let source = format!(
            "duration = \"4ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
             [slow_receiver]\nhosts = \"H0\"\ndrain_rate = \"0Gbps\"\nstart = \"{start}us\"\nstop = \"{}us\"\nxoff = \"20KB\"\n\
             [switch.watchdog]\ndetection_time = \"200us\"\nrestoration_time = \"200us\"\npoll_interval = \"{poll}us\"\n\
             action = \"alert\"\n[[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\n",
            start + length
        );
        let scenario = parsed(&source);
        let warned = scenario
            .warnings()
            .iter()
            .any(|it| it.kind == "blind-watchdog");
        let outcome = run(&source);
        let found = outcome.warnings.iter().any(|it| it.kind == "pfc-storm");
        (warned, found)
    };
    // PAUSE is repeated every 167.8 us at 100 Gb/s. Two polls of 170 us make 340 us of detection, and one more may pass before.
    for start in (1000..1170).step_by(34) {
        assert_eq!(storm(170, start, 520), (false, true), "{start}");
    }
    // Faster polls miss storms that are as long.
    let missed = (1000..1100)
        .step_by(25)
        .filter(|start| !storm(100, *start, 600).1);
    assert!(missed.count() > 0);
    assert!(storm(100, 1000, 600).0);
}
