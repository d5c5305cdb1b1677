//! Lossless packets that were dropped although headroom is as large as the link needs: what is said of the cause.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;

use crate::small::{messages, run};

/// Hosts send to H0 at once; a link needs 27.2 KB beyond XOFF.
const INCAST: &str = r#"
duration = "1ms"

[topology]
builder = "single-switch"
hosts = 6
rate = "100Gbps"
delay = "1us"

[pfc]
xoff = "50KB"
PFC

[[scheme]]
name = "x"

[[traffic]]
name = "f"
kind = "burst"
from = "H1..H5"
to = "H0"
size = "200KB"
MORE
"#;

/// Cause and help of the first port that dropped packets, and how many such ports there are.
fn said(pfc: &str, more: &str) -> (String, String, usize) {
    let outcome = run(&INCAST.replace("PFC", pfc).replace("MORE", more));
    let all = outcome.warnings.iter();
    let of_kind: Vec<_> = all.filter(|it| it.kind == "headroom-drops").collect();
    let first = of_kind.first().expect("packets are dropped");
    let (_, cause) = first.message.split_once("priority 3: ").expect("a cause");
    let help = first.help.clone().unwrap_or_default();
    (cause.to_owned(), help, of_kind.len())
}

const NEEDS: &str =
    "by IEEE 802.1Q this link needs 27.2 KB beyond XOFF (cable 1us, frames 1048B, reaction 0ps)";

#[test]
fn a_host_that_ignores_pause_is_named_instead_of_headroom() {
    for headroom in ["40KB", "10KB"] {
        let pfc = format!("headroom = \"{headroom}\"");
        let host = "[host]\nignore_pause = \"H1\"";
        let (cause, help, _) = said(&pfc, host);
        assert_eq!(
            cause,
            "host.ignore_pause names H1, which may fill any headroom"
        );
        assert_eq!(help, "remove H1 from host.ignore_pause");
    }
}

#[test]
fn a_pause_that_runs_out_is_named_instead_of_headroom() {
    let pfc = "headroom = \"40KB\"\nmode = \"once\"\npause_time = \"2us\"";
    let own = format!("; its own headroom of 40 KB is not too small: {NEEDS}");
    let (cause, help, _) = said(pfc, "");
    let not_known = "PAUSE is not repeated (pfc.mode = \"once\"): a sender goes on if XON has not come after 2us";
    assert_eq!(cause, format!("{not_known}{own}"));
    assert!(help.starts_with("set pfc.mode = \"standard\""), "{help}");
    let (cause, ..) = said(pfc, "[probes]\ncauses = true");
    assert!(cause.starts_with("PAUSE ran out at H1, H2"), "{cause}");
    assert!(cause.ends_with(&own), "{cause}");
}

#[test]
fn lost_xoffs_are_named_instead_of_headroom() {
    let more = "[[event]]\nkind = \"error-rate\"\nlink = \"S0->H1\"\nloss = 0.5";
    let (cause, ..) = said("headroom = \"40KB\"", more);
    let (before, rest) = cause.split_once('(').expect("a number");
    assert_eq!(before, "control frames to H1 were lost ");
    let (lost, rest) = rest.split_once(')').expect("a number");
    assert!(lost.parse::<u64>().is_ok_and(|it| it > 0), "{cause}");
    assert_eq!(
        rest,
        format!(
            ", and XOFF may have been among them; its own headroom of 40 KB is not too small: {NEEDS}"
        )
    );
}

/// The hint of the pool is one that helps: without it nothing is dropped.
#[test]
fn a_pool_that_is_exhausted_is_named_instead_of_headroom() {
    let (cause, help, _) = said("headroom = \"30KB\"\nheadroom_pool = \"30KB\"", "");
    let expected = "the headroom pool of 30 KB, which all ports of the switch share, is exhausted; its own headroom of 30 KB \
                    is not too small: ";
    assert_eq!(cause, format!("{expected}{NEEDS}"));
    assert_eq!(
        help,
        "raise pfc.headroom_pool to 180 KB or more, or remove it: then each port has its own"
    );
    let without = run(&INCAST
        .replace("PFC", "headroom = \"30KB\"")
        .replace("MORE", ""));
    assert!(
        without
            .warnings
            .iter()
            .all(|it| it.kind != "headroom-drops")
    );
    // With less headroom than the link needs either may be the cause.
    let (cause, help, _) = said("headroom = \"20KB\"\nheadroom_pool = \"30KB\"", "");
    assert!(
        cause.starts_with("the shared headroom pool is exhausted, or headroom 20 KB is too small")
    );
    assert_eq!(
        help,
        "set pfc.headroom to 27.2 KB or more, and pfc.headroom_pool to 163.2 KB or more"
    );
}

#[test]
fn a_switch_that_does_not_obey_pause_is_named_instead_of_headroom() {
    let two = r#"
duration = "1ms"
[topology]
builder = "two-switch"
left = ["A", "B"]
right = ["C", "D"]
rate = "100Gbps"
delay = "1us"
bottleneck_rate = "200Gbps"
[pfc]
xoff = "50KB"
[[override]]
switches = "S0"
lossless = []
[[scheme]]
name = "x"
[[traffic]]
name = "f"
kind = "burst"
from = ["A", "B"]
to = "C"
size = "400KB"
"#;
    let said = messages(&run(two)).into_iter();
    let found: Vec<_> = said.filter(|it| it.starts_with("headroom-drops")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = ": PAUSE of priority 3 does not stop S0 (lossless of its override), which may fill any headroom";
    assert!(found[0].ends_with(expected), "{found:?}");
}

/// Ports with the same cause share a sentence; the frames add up to those of the table.
#[test]
fn ports_with_one_cause_share_one_warning() {
    let source = INCAST
        .replace("PFC", "headroom = \"10KB\"")
        .replace("MORE", "");
    for (hosts, ports) in [
        (
            4,
            "S0 port 1 (to H1), S0 port 2 (to H2) and S0 port 3 (to H3)",
        ),
        (
            20,
            "S0 port 1 (to H1), S0 port 2 (to H2), S0 port 3 (to H3), S0 port 4 (to H4) and 15 more",
        ),
    ] {
        let source = source
            .replace("hosts = 6", &format!("hosts = {hosts}"))
            .replace("H1..H5", &format!("H1..H{}", hosts - 1));
        let outcome = run(&source);
        let all = outcome.warnings.iter();
        let said: Vec<_> = all.filter(|it| it.kind == "headroom-drops").collect();
        let [one] = said[..] else { panic!("{said:?}") };
        let lost = outcome
            .tables
            .ports
            .column_by_name("headroom_dropped_packets");
        let lost = lost.expect("the column").as_primitive::<UInt64Type>();
        let lost: u64 = lost.values().iter().sum();
        let begin =
            format!("{ports} dropped {lost} packets of lossless priority 3: headroom 10 KB");
        let message = one.message.replace(',', "");
        assert!(message.starts_with(&begin.replace(',', "")), "{message}");
    }
}

/// ACKs of TCP have the priority of their flow, here a lossless one: they are lost beside the data of the other way.
#[test]
fn acks_lost_in_headroom_are_told_apart_with_their_share_of_the_bytes() {
    let more = "transport = \"udp\"\nstart = \"300us\"\n[[traffic]]\nname = \"back\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"5MB\"\ntransport = \"tcp\"";
    let source = INCAST
        .replace("PFC", "headroom = \"20B\"")
        .replace("xoff = \"50KB\"", "xoff = \"20KB\"")
        .replace("200KB", "5MB")
        .replace("name = \"x\"", "name = \"x\"\ntcp = \"dctcp\"")
        .replace("MORE", more);
    let outcome = run(&source);
    let all = outcome.warnings.iter();
    let said: Vec<_> = all.filter(|it| it.kind == "headroom-drops").collect();
    let message = &said[0].message;
    let (_, rest) = message
        .split_once("of lossless priority 3, ")
        .unwrap_or_else(|| panic!("no share: {message}"));
    let (number, rest) = rest.split_once(" of them ").expect("a number");
    assert!(number.parse::<u64>().is_ok_and(|it| it > 0), "{message}");
    let (share, _) = rest
        .split_once("ACKs or other control frames, with ")
        .expect("ACKs")
        .1
        .split_once(" of the ")
        .expect("bytes");
    assert!(share.ends_with(" %"), "{message}");
}
