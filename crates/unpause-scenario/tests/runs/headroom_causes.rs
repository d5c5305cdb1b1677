//! Lossless packets that were dropped although headroom is as large as the link needs: what is said of the cause.

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
            "H1 ignores PAUSE (host.ignore_pause): it may fill any headroom"
        );
        assert_eq!(help, "remove H1 from host.ignore_pause");
    }
}

#[test]
fn a_pause_that_runs_out_is_named_instead_of_headroom() {
    let pfc = "headroom = \"40KB\"\nmode = \"once\"\npause_time = \"2us\"";
    let own = format!("; its own headroom of 40 KB is not too small: {NEEDS}");
    let (cause, help, _) = said(pfc, "");
    let not_known =
        "PAUSE is not repeated (pfc.mode = \"once\"): H1 sends on if XON has not come after 2us";
    assert_eq!(cause, format!("{not_known}{own}"));
    assert!(help.starts_with("set pfc.mode = \"standard\""), "{help}");
    let (cause, ..) = said(pfc, "[probes]\ncauses = true");
    assert!(cause.starts_with("PAUSE ran out at H1"), "{cause}");
    assert!(cause.ends_with(&own), "{cause}");
}

#[test]
fn lost_xoffs_are_named_instead_of_headroom() {
    let more = "[[event]]\nkind = \"error-rate\"\nlink = \"S0->H1\"\nloss = 0.5";
    let (cause, ..) = said("headroom = \"40KB\"", more);
    let (lost, rest) = cause.split_once(' ').expect("a number");
    assert!(lost.parse::<u64>().is_ok_and(|it| it > 0), "{cause}");
    assert_eq!(
        rest,
        format!(
            "control frames to H1 were lost, and XOFF may have been among them; its own headroom of 40 KB is not too \
             small: {NEEDS}"
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
    let expected = ": S0 does not obey PAUSE of priority 3 (lossless of its override): it may fill any headroom";
    assert!(found[0].ends_with(expected), "{found:?}");
}
