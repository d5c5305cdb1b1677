//! Reports about failed links, where several fail at the same time.

use crate::small::{messages, run};

const SCENARIO: &str = r#"
duration = "1ms"

[topology]
builder = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 2
host_rate = "10Gbps"
delay = "1us"

[[scheme]]
name = "PFC"

[[traffic]]
name = "all"
kind = "flow"
from = "H0"
to = "H2"
"#;

fn event(at: &str, link: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nlink = \"{link}\"\nkind = {what}\n")
}

/// Warnings about links, without how much was lost.
fn said(events: &str, kind: &str) -> Vec<String> {
    let outcome = run(&format!("{SCENARIO}{events}"));
    let all = messages(&outcome).into_iter();
    let ours = all.filter_map(|it| it.strip_prefix(&format!("{kind}: ")).map(str::to_owned));
    let parts = ours.map(|message| match message.split_once(": ") {
        Some((links, rest)) => {
            let followed = rest.find("routes ").map_or(rest, |at| &rest[at..]);
            format!("{links}: {followed}")
        }
        None => message,
    });
    parts.collect()
}

#[test]
fn a_link_that_returns_is_told_apart_from_one_that_does_not() {
    let events = event("100us", "leaf0-spine0", "\"down\"")
        + &event("100us", "leaf0-spine1", "\"down\"")
        + &event("100us", "leaf1->spine2", "\"down\"")
        + &event("400us", "leaf0-spine0", "\"up\"")
        + &event("400us", "leaf1->spine2", "\"up\"");
    assert_eq!(
        said(&events, "link-down"),
        [
            "leaf0-spine0, leaf1->spine2 down at 100us: routes changed at 150us, up again at 400us",
            "leaf0-spine1 down at 100us: routes changed at 150us, not up again",
        ]
    );
}

/// Routes that change in between do so for another link.
#[test]
fn routes_follow_the_failure_that_is_reported() {
    let events = event("100us", "leaf0-spine0", "\"down\"")
        + &event("120us", "leaf0-spine1", "\"down\"")
        + &event("200us", "leaf0-spine2", "\"down\"")
        + &event("210us", "leaf0-spine2", "\"up\"");
    assert_eq!(
        said(&events, "link-down"),
        [
            "leaf0-spine0 down at 100us: routes changed at 150us, not up again",
            "leaf0-spine1 down at 120us: routes changed at 170us, not up again",
            "leaf0-spine2 down at 200us: routes did not change, up again at 210us",
        ]
    );
}

#[test]
fn each_link_is_slow_for_its_own_time() {
    let slow = "\"rate\"\nrate = \"1Gbps\"";
    let events = event("50us", "leaf1->spine0", slow)
        + &event("50us", "leaf1->spine2", slow)
        + &event("60us", "leaf1->spine2", "\"rate\"\nrate = \"10Gbps\"");
    assert_eq!(
        said(&events, "link-rate"),
        [
            "leaf1->spine2 at 1Gbps of 10Gbps from 50us until 60us",
            "leaf1->spine0 at 1Gbps of 10Gbps from 50us on",
        ]
    );
}
