//! Warnings of `validate` before anything runs: settings that cannot act, each beside one that can.

use std::path::Path;

use unpause_scenario::{NoProgress, Options, Scenario, execute};

use crate::small::{parsed, run};

/// Two switches, `DELAY` apart; H0 and H1 send to H2 behind a link of half the rate.
const FABRIC: &str = r#"
duration = "1ms"

[topology]
builder = "explicit"
hosts = ["H0", "H1", "H2"]
switches = ["S0", "S1"]
rate = "100Gbps"
delay = "200ns"
link = [
    { a = "H0", b = "S0" },
    { a = "H1", b = "S0" },
    { a = "S0", b = "S1", delay = "DELAY" },
    { a = "H2", b = "S1", rate = "50Gbps" },
]

[switch]
lossless = [3]
SWITCH

[pfc]
PFC

[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
SCHEME

[[traffic]]
name = "t"
kind = "burst"
from = "H0..H1"
to = "H2"
size = "10KB"
TRAFFIC
"#;

/// Thresholds of DCQCN, unless a test sets others.
const THRESHOLDS: &str = "dcqcn = { kmin = \"5KB\", kmax = \"200KB\" }";

/// The fabric with some lines filled in; those that are not stay empty.
fn scenario(filled: &[(&str, &str)]) -> Scenario {
    let mut source = FABRIC.to_owned();
    let others = [("DELAY", "1us"), ("SCHEME", THRESHOLDS)];
    for (name, text) in filled.iter().chain(&others) {
        source = source.replace(name, text);
    }
    for name in ["SWITCH", "PFC", "SCHEME", "TRAFFIC"] {
        source = source.replace(&format!("\n{name}\n"), "\n\n");
    }
    parsed(&source)
}

/// Kinds and messages of what is reported before the run.
fn warnings(filled: &[(&str, &str)]) -> Vec<(String, String)> {
    let warnings = scenario(filled).warnings().into_iter();
    warnings.map(|it| (it.kind, it.message)).collect()
}

fn only(filled: &[(&str, &str)], kind: &str) -> String {
    let mut all = warnings(filled);
    assert_eq!(all.len(), 1, "{all:?}");
    let (found, message) = all.remove(0);
    assert_eq!(found, kind);
    message
}

#[test]
fn nothing_is_reported_of_the_defaults() {
    assert_eq!(warnings(&[]), []);
}

#[test]
fn dcqcns_own_thresholds_at_a_link_that_is_faster_than_theirs() {
    let with = |scheme: &str, rate: &str| {
        let mut source = FABRIC.replace("SCHEME", scheme).replace("DELAY", "1us");
        source = source.replace("100Gbps", rate).replace("50Gbps", rate);
        let source = ["SWITCH", "PFC", "TRAFFIC"]
            .iter()
            .fold(source, |text, name| {
                text.replace(&format!("\n{name}\n"), "\n")
            });
        let scenario = parsed(&source);
        let before = scenario.warnings();
        let options = Options::default();
        let results = execute(&scenario, &options, &NoProgress).expect("results");
        let of_kind = |all: &[unpause_scenario::Warning]| {
            let found = all.iter().find(|it| it.kind == "default-thresholds");
            found.map(|it| (it.note, it.message.clone()))
        };
        (of_kind(&before), of_kind(&results.warnings))
    };
    let message = "DCQCN's default thresholds are those of its paper, for 40 Gb/s links: kmin 5 KB, kmax 200 KB; the \
                   fastest link here has 100Gbps";
    let (before, after) = with("", "100Gbps");
    assert_eq!(before, Some((true, format!("test.toml:22: {message}"))));
    assert_eq!(after, Some((true, format!("test.toml:22: {message}"))));
    assert_eq!(with("", "40Gbps"), (None, None));
    for chosen in [
        THRESHOLDS,
        "dcqcn = { kmin = { \"100Gbps\" = \"400KB\" }, kmax = { \"100Gbps\" = \"1600KB\" }, pmax = { \"100Gbps\" = 0.2 } }",
        "marking = \"red\"\nred = { kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2 }",
        "[[override]]\nswitches = \"S*\"\nkmin = \"400KB\"\nkmax = \"1600KB\"\npmax = 0.2",
    ] {
        assert_eq!(with(chosen, "100Gbps"), (None, None), "{chosen}");
    }
}

/// The steps are those of the NIC: links between switches may be faster.
#[test]
fn thresholds_are_suggested_for_the_links_of_hosts() {
    let help = |between_switches: &str| {
        let delay = format!("1us\", rate = \"{between_switches}");
        let source = FABRIC.replace("DELAY", &delay);
        let source = ["SWITCH", "PFC", "SCHEME", "TRAFFIC"]
            .iter()
            .fold(source, |text, name| {
                text.replace(&format!("\n{name}\n"), "\n")
            });
        let scenario = parsed(&source);
        let all = scenario.warnings();
        let found = all.into_iter().find(|it| it.kind == "default-thresholds");
        found.and_then(|it| it.help).expect("a hint")
    };
    let begins = "`unpause suggest dcqcn --rate 100Gbps` prints parameters for";
    for (rate, whose) in [("400Gbps", "the links of hosts"), ("100Gbps", "this rate")] {
        let help = help(rate);
        assert!(help.starts_with(&format!("{begins} {whose};")), "{help}");
    }
}

#[test]
fn a_kmin_that_pause_never_lets_a_queue_reach() {
    let scheme = |kmin: &str| format!("dcqcn = {{ kmin = \"{kmin}\", kmax = \"4MB\" }}");
    let pfc = "xoff = \"100KB\"\nxon = \"90KB\"";
    let message = only(
        &[("PFC", pfc), ("SCHEME", &scheme("1MB"))],
        "unreachable-threshold",
    );
    assert!(
        message.starts_with(
            "test.toml:28: no queue reaches kmin 1 MB: with all 3 ingress ports of S0"
        ),
        "{message}"
    );
    assert_eq!(warnings(&[("PFC", pfc), ("SCHEME", &scheme("150KB"))]), []);
}

/// 40 km at 50 Gb/s: 400 us there and back are 2.5 MB, with what is in flight while a PAUSE is obeyed.
#[test]
fn an_xon_that_runs_dry_over_a_long_link() {
    let pfc = |xon: &str| format!("xoff = \"3MB\"\nxon = \"{xon}\"");
    let message = only(&[("DELAY", "200us"), ("PFC", &pfc("1MB"))], "low-xon");
    assert!(
        message
            .contains("pfc.xon 1 MB is too low for the link S0 to S1: its ingress drains 2.5 MB"),
        "{message}"
    );
    assert_eq!(warnings(&[("DELAY", "200us"), ("PFC", &pfc("2600KB"))]), []);
    assert_eq!(warnings(&[("PFC", &pfc("1MB"))]), []);
}

#[test]
fn a_buffer_that_is_full_before_every_port_has_sent_pause() {
    let switch = |buffer: &str| format!("buffer = \"{buffer}\"");
    let message = only(&[("SWITCH", &switch("1MB"))], "small-buffer");
    assert!(
        message.contains("may hold pfc.xoff 512 KB in each of 1 lossless priorities"),
        "{message}"
    );
    let message = only(
        &[("SWITCH", &switch("600KB")), ("PFC", "xoff = \"560KB\"")],
        "small-buffer",
    );
    assert!(
        message.contains("pfc.xoff 560 KB is more than the"),
        "{message}"
    );
    assert_eq!(warnings(&[("SWITCH", &switch("4MB"))]), []);
}

/// The settings of the switch at hand decide, not those of the file for all switches.
#[test]
fn overrides_decide_what_is_reported_of_buffers() {
    let own = |keys: &str| format!("\n[[override]]\nswitches = \"S*\"\n{keys}\n");
    let red = |kmin: &str| format!("dcqcn = {{ kmin = \"{kmin}\", kmax = \"4MB\" }}");
    let low = "xoff = \"100KB\"\nxon = \"90KB\"";
    // Marks: two ports of S0 hold more than kmin under their own XOFF, and less under the others'.
    let high = low.to_owned() + &own("xoff = \"2MB\"\nxon = \"1900KB\"");
    assert_eq!(warnings(&[("PFC", &high), ("SCHEME", &red("1MB"))]), []);
    let low_there = own("xoff = \"100KB\"\nxon = \"90KB\"");
    let message = only(
        &[("PFC", &low_there), ("SCHEME", &red("1MB"))],
        "unreachable-threshold",
    );
    assert!(
        message.contains("ports of S0 at XOFF (100 KB)"),
        "{message}"
    );
    let lossy = low.to_owned() + &own("lossless = []");
    assert_eq!(warnings(&[("PFC", &lossy), ("SCHEME", &red("900KB"))]), []);
    let message = only(
        &[("PFC", &lossy), ("SCHEME", &red("1MB"))],
        "unreachable-threshold",
    );
    let says = "kmin 1 MB is not below lossy_queue 1 MB: packets are dropped before any is marked";
    assert!(message.ends_with(says), "{message}");
    let marks = low.to_owned() + &own("kmin = \"50KB\"\nkmax = \"60KB\"\npmax = 1.0");
    assert_eq!(warnings(&[("PFC", &marks), ("SCHEME", &red("1MB"))]), []);
    // Buffers.
    let small = ("SWITCH", "buffer = \"1MB\"");
    assert_eq!(warnings(&[small, ("PFC", &own("xoff = \"20KB\""))]), []);
    assert_eq!(warnings(&[small, ("PFC", &own("buffer = \"4MB\""))]), []);
    let message = only(
        &[
            small,
            (
                "PFC",
                &format!("xoff = \"20KB\"{}", own("xoff = \"400KB\"")),
            ),
        ],
        "small-buffer",
    );
    assert!(
        message.contains("may hold xoff of its override 400 KB in each of 1 lossless priorities"),
        "{message}"
    );
    // XON, over 40 km.
    let far = ("DELAY", "200us");
    let high = own("xoff = \"3MB\"\nxon = \"2600KB\"");
    assert_eq!(warnings(&[far, ("PFC", &high)]), []);
    let low = format!(
        "xoff = \"3MB\"\nxon = \"2600KB\"{}",
        own("xoff = \"3MB\"\nxon = \"1MB\"")
    );
    let message = only(&[far, ("PFC", &low)], "low-xon");
    assert!(
        message.starts_with("xon of its override 1 MB is too low for the link S0 to S1"),
        "{message}"
    );
}

/// A pool takes less of the buffer than all ports' headroom would.
#[test]
fn a_pool_of_headroom_leaves_more_of_the_buffer() {
    let pfc = |pool: &str| format!("xoff = \"100KB\"\nheadroom = \"100KB\"\n{pool}");
    let switch = ("SWITCH", "buffer = \"500KB\"");
    let message = only(&[switch, ("PFC", &pfc(""))], "small-buffer");
    assert!(message.contains("headroom leaves 200 KB"), "{message}");
    assert_eq!(
        warnings(&[switch, ("PFC", &pfc("headroom_pool = \"150KB\""))]),
        []
    );
}

#[test]
fn roce_in_a_lossy_class_beside_a_lossless_one() {
    let message = only(&[("TRAFFIC", "priority = 0")], "lossy-roce");
    assert!(
        message.contains("`t` has priority 0, which is not in switch.lossless [3]"),
        "{message}"
    );
    // Loss that is intended, and a priority that others use.
    let lossy = [
        ("TRAFFIC", "priority = 0"),
        ("lossless = [3]", "lossless = []"),
    ];
    assert_eq!(warnings(&lossy), []);
}

#[test]
fn flows_that_start_after_the_end() {
    let message = only(&[("TRAFFIC", "start = \"2s\"")], "late-traffic");
    assert!(message.contains("at 2s, the run ends at 1ms"), "{message}");
    assert_eq!(warnings(&[("TRAFFIC", "start = \"900us\"")]), []);
}

/// Hosts serve priorities strictly, whatever `[switch.scheduler]` does.
#[test]
fn a_priority_that_its_own_host_starves() {
    let starved = |traffic: &str| {
        let scenario = scenario(&[
            ("TRAFFIC", traffic),
            ("size = \"10KB\"", "size = \"100MB\""),
            // Nothing is congested, so that no PAUSE lets the other priority send.
            ("H0..H1", "H0"),
            (", rate = \"50Gbps\"", ""),
        ]);
        let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
        let kinds = outcome.warnings.into_iter();
        let found = kinds.filter(|it| it.kind == "starved-priority");
        found.map(|it| it.message).collect::<Vec<_>>()
    };
    let low = |priority: u8| {
        format!(
            "priority = 3\n[[traffic]]\nname = \"low\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\n\
             priority = {priority}\nsize = \"1MB\""
        )
    };
    let [message] = &starved(&low(1))[..] else {
        panic!("one host, one priority")
    };
    assert!(
        message.starts_with("H0 sent nothing of priority 1 (traffic `low`)"),
        "{message}"
    );
    assert_eq!(starved(&low(4)), Vec::<String>::new());
}

/// One packet of a higher priority, and then a link that is down: that is not what kept the other from sending.
#[test]
fn a_priority_behind_a_failed_link_is_not_starved() {
    let source = |event: &str| {
        format!(
            "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [switch]\nlossless = [3, 4]\n[[scheme]]\nname = \"x\"\n\
             [[traffic]]\nname = \"hi\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"1KB\"\npriority = 4\n\
             [[traffic]]\nname = \"lo\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"1MB\"\npriority = 3\n\
             start = \"20us\"\n{event}"
        )
    };
    let down = "[[event]]\nkind = \"down\"\nlink = \"H0-S0\"\nat = \"10us\"\n";
    let outcome = run(&source(down));
    let kinds: Vec<_> = outcome.warnings.iter().map(|it| it.kind.as_str()).collect();
    assert!(kinds.contains(&"link-down"), "{kinds:?}");
    assert!(!kinds.contains(&"starved-priority"), "{kinds:?}");
}

/// A watchdog of these keys, in a run of 1 ms with links of 50 and 100 Gb/s.
fn watchdog(keys: &str) -> Vec<String> {
    let switch = format!("[switch.watchdog]\n{keys}");
    let all = warnings(&[("SWITCH", &switch)]).into_iter();
    let of_kind = all.filter(|(kind, _)| kind == "blind-watchdog");
    of_kind.map(|(_, message)| message).collect()
}

#[test]
fn a_watchdog_that_takes_longer_than_the_run() {
    let message = watchdog("").remove(0);
    insta::assert_snapshot!(
        message,
        @"test.toml:19: the PFC watchdog cannot find a storm: it needs at least 200ms, and the run lasts 1ms"
    );
    let times = |of: &str| {
        watchdog(&format!(
            "detection_time = \"{of}\"\nrestoration_time = \"{of}\"\npoll_interval = \"{of}\"\nrule = \"mellanox\""
        ))
    };
    assert!(times("900us").is_empty());
    assert_eq!(times("1ms").len(), 1);
}

/// PAUSE lasts 671 us at 50 Gb/s and is repeated at half of that.
#[test]
fn a_watchdog_that_looks_more_often_than_pause_comes() {
    let looks = |every: &str, rule: &str| {
        watchdog(&format!(
            "detection_time = \"400us\"\nrestoration_time = \"400us\"\npoll_interval = \"{every}\"\nrule = \"{rule}\""
        ))
    };
    insta::assert_snapshot!(
        looks("335us", "broadcom").remove(0),
        @r#"test.toml:19: the PFC watchdog may miss a storm: with rule = "broadcom" each poll must see a PFC frame, it polls every 335us, and a PAUSE is repeated every 335.5392us at 50Gbps"#
    );
    assert!(looks("336us", "broadcom").is_empty());
    assert!(looks("335us", "mellanox").is_empty());
}

/// The slow link between the switches is not watched, and PAUSE comes often enough on those that are.
#[test]
fn only_watched_ports_count() {
    let keys = |ports: &str| {
        format!(
            "[switch.watchdog]\ndetection_time = \"400us\"\nrestoration_time = \"400us\"\npoll_interval = \"335us\"\n\
             rule = \"broadcom\"\nports = \"{ports}\""
        )
    };
    let of_kind = |ports: &str| {
        let slow = [
            ("SWITCH", keys(ports)),
            ("DELAY", "1us\", rate = \"1Gbps".to_owned()),
            ("b = \"S1\", rate = \"50Gbps\"", "b = \"S1\"".to_owned()),
        ];
        let slow = slow.each_ref().map(|(name, text)| (*name, text.as_str()));
        let all = warnings(&slow).into_iter();
        all.filter(|(kind, _)| kind == "blind-watchdog").count()
    };
    assert_eq!((of_kind("all"), of_kind("hosts")), (1, 0));
}

/// Two switches of 3 and 2 ports with 2 classes: 30 ns for a poll of both.
#[test]
fn a_watchdog_that_polls_so_often_that_the_run_takes_long() {
    let polls = |every: &str, times: &str| -> Vec<String> {
        let keys = format!(
            "[switch.watchdog]\nrule = \"mellanox\"\npoll_interval = \"{every}\"\n\
             detection_time = \"{times}\"\nrestoration_time = \"{times}\""
        );
        let all = scenario(&[("SWITCH", &keys)]).warnings().into_iter();
        all.map(|it| format!("{}: {}\n{}", it.kind, it.message, it.help.unwrap()))
            .collect()
    };
    insta::assert_snapshot!(polls("1ps", "400us").concat(), @r#"
    fast-watchdog: test.toml:21: the PFC watchdog of each switch polls every 1ps, 1,000,000,000 times in 1ms: this alone takes a core about 30 s
    set poll_interval to "100ps" or more; SONiC's switches poll every 100ms to 1s
    "#);
    assert_eq!(
        polls("1ps", "20ps").concat().lines().last(),
        Some(
            "set poll_interval to \"100ps\" or more, and detection_time and restoration_time to no less; SONiC's switches \
             poll every 100ms to 1s"
        )
    );
    assert_eq!(polls("4ps", "400us"), Vec::<String>::new());
}

#[test]
fn a_window_law_beside_roce_without_a_tcp_flow() {
    let scheme = format!("tcp = \"cubic\"\n{THRESHOLDS}");
    let filled = [("SCHEME", &scheme[..]), ("TRAFFIC", "")];
    assert_eq!(
        only(&filled, "input"),
        "`tcp` of this scheme has no effect: no flow is TCP (transport = \"tcp\" in [[traffic]])"
    );
    let used = [filled[0], ("TRAFFIC", "transport = \"tcp\"")];
    assert!(warnings(&used).iter().all(|it| it.0 != "input"));
}

/// A lossless class with WRED, whose UDP packets are not ECN-capable.
fn with_wred(kmin: &str, kmax: &str, transport: &str) -> Scenario {
    let source = format!(
        r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "200ns"
[switch]
lossless = [3]
[[scheme]]
name = "PFC"
marking = "wred"
wred = {{ kmin = "{kmin}", kmax = "{kmax}", pmax = 1 }}
[[traffic]]
name = "t"
kind = "flow"
from = "H1..H2"
to = "H0"
transport = "{transport}"
rate_limit = "80Gbps"
"#
    );
    Scenario::parse(&source, Path::new("test.toml")).unwrap_or_else(|it| panic!("{}", it.explain()))
}

#[test]
fn wred_that_begins_below_xoff_drops_lossless_packets_that_are_not_ecn_capable() {
    let why = "WRED drops packets of lossless priority 3 that are not ECN-capable, from a queue of 100 KB on";
    let scenario = with_wred("100KB", "200KB", "udp");
    let [before] = &scenario.warnings()[..] else {
        panic!("one warning")
    };
    assert_eq!(before.kind, "wred-below-xoff");
    let place =
        format!("test.toml:13: {why} and all above 200 KB: one ingress never reaches XOFF, 512 KB");
    assert!(before.message.starts_with(&place), "{}", before.message);
    let results = execute(&scenario, &Options::default(), &NoProgress).expect("results");
    let lost = |all: &[unpause_scenario::Warning]| {
        let found = all.iter().find(|it| it.kind == "lossless-drops");
        found.map(|it| (it.message.clone(), it.help.clone().unwrap_or_default()))
    };
    let (message, help) = lost(&results.warnings).expect("packets are lost");
    assert!(
        message.contains(&format!(
            " packets of a lossless priority were dropped at S0->H0, priority 3: {why}"
        )),
        "{message}"
    );
    assert!(
        help.starts_with("set kmin of [scheme.wred] to 1.039 MB or more"),
        "{help}"
    );
    // Followed, the advice helps; and RoCE packets are ECN-capable.
    for other in [
        with_wred("1.039MB", "1.2MB", "udp"),
        with_wred("100KB", "200KB", "roce"),
    ] {
        assert_eq!(other.warnings(), []);
        let results = execute(&other, &Options::default(), &NoProgress).expect("results");
        assert_eq!(lost(&results.warnings), None);
    }
    // Above one XOFF two ingress ports together lose packets.
    let scenario = with_wred("600KB", "700KB", "udp");
    let [before] = &scenario.warnings()[..] else {
        panic!("one warning")
    };
    let end = ": with all ingress ports at XOFF, 512 KB each, it holds up to 1.039 MB";
    assert!(before.message.ends_with(end), "{}", before.message);
    let results = execute(&scenario, &Options::default(), &NoProgress).expect("results");
    assert!(lost(&results.warnings).is_some());
}

#[test]
fn the_xoff_that_is_advised_loses_nothing() {
    let with = |xoff: &str| {
        let source = format!(
            r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 5
rate = "100Gbps"
delay = "200ns"
[switch]
lossless = [3]
buffer = "1MB"
[pfc]
xoff = "{xoff}"
[[scheme]]
name = "PFC"
[[traffic]]
name = "t"
kind = "flow"
from = "H1..H4"
to = "H0"
"#
        );
        Scenario::parse(&source, Path::new("test.toml")).expect("a scenario")
    };
    // 1 MB less 5 headrooms of 7,160 B and 5 frames for ACKs, by four, less the frame that exceeds XOFF: 238,692 B.
    for xoff in ["512KB", "241.1KB"] {
        let help = with(xoff).warnings().remove(0).help.expect("advice");
        assert!(
            help.starts_with("set pfc.xoff to 238.6 KB or less, or raise switch.buffer to"),
            "{help}"
        );
    }
    let followed = with("238.6KB");
    assert_eq!(followed.warnings(), []);
    let results = execute(&followed, &Options::default(), &NoProgress).expect("results");
    let lost = results
        .warnings
        .iter()
        .filter(|it| ["headroom-drops", "lossless-drops"].contains(&&*it.kind));
    assert_eq!(lost.count(), 0);
}

/// Two schemes, of which the second has no lossless priority.
fn mixed(shared: &str, first: &str, second: &str) -> Result<Scenario, unpause_scenario::Error> {
    let source = format!(
        r#"
duration = "1ms"
{shared}
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "200ns"
[switch]
buffer = "32MB"
[[scheme]]
name = "PFC"
{first}
[[scheme]]
name = "NSCC"
congestion_control = "nscc"
loss_recovery = "selective-repeat"
[scheme.set]
"switch.lossless" = []
"switch.lossy_queue" = "128KB"
{second}
[[traffic]]
name = "t"
kind = "flow"
from = "H1..H2"
to = "H0"
"#
    );
    Scenario::parse(&source, Path::new("test.toml"))
}

#[test]
fn a_key_is_refused_only_if_it_has_no_effect_under_any_scheme() {
    let alpha = "pfc = { alpha = 0.125 }";
    assert!(mixed(alpha, "", "").is_ok());
    let refusal = |it: Result<Scenario, unpause_scenario::Error>| match it {
        Ok(_) => panic!("it is refused"),
        Err(error) => error.explain(),
    };
    // The value of the file is read by nobody if the other scheme sets its own.
    let own = "set = { \"pfc.alpha\" = 0.5 }";
    let text = refusal(mixed(alpha, own, ""));
    assert!(
        text.starts_with("test.toml:3:17: `alpha` has no effect"),
        "{text}"
    );
    assert!(
        text.contains("`alpha` has no effect under `NSCC`"),
        "{text}"
    );
    let text = refusal(mixed("", "", "\"pfc.alpha\" = 0.5"));
    assert!(
        text.contains("`alpha` has no effect under `NSCC`"),
        "{text}"
    );
    let lossy = "set = { \"switch.lossless\" = [] }";
    let text = refusal(mixed(alpha, lossy, ""));
    assert!(
        text.contains("`alpha` has no effect under any of the 2 schemes"),
        "{text}"
    );
}
