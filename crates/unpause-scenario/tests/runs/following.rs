//! Entries of `[[traffic]]` that start when flows of others have ended.

use std::ops::ControlFlow;

use unpause_sim::results::FlowRecord;

use crate::small::{parsed, refusal, run};

/// Four hosts at a switch; `first` sends from H0 and H1 to H2, `second` follows.
const FILE: &str = r#"
duration = "1ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[scheme]]
name = "PFC"

[[traffic]]
name = "first"
kind = "flow"
from = "H0..H1"
to = "H2"
size = "100KB"

[[traffic]]
name = "second"
kind = "flow"
from = "H2"
to = "H0..H1"
size = "10KB"
after = "first"
"#;

#[test]
fn the_second_entry_starts_when_the_first_has_ended() {
    let scenario = parsed(FILE);
    let config = &scenario.runs()[0].config;
    let results = unpause_sim::run(config, &mut |_| ControlFlow::Continue(())).expect("it runs");
    let end = |flow: &FlowRecord| flow.start + flow.fct.expect("it is complete");
    let of_entry = |entry: u16| results.flows.iter().filter(move |flow| flow.group == entry);
    let last = of_entry(0).map(end).max().expect("flows end");
    let starts: Vec<_> = of_entry(1).map(|flow| flow.start).collect();
    assert_eq!(starts, [last, last]);
    let kinds = run(FILE).warnings.into_iter().map(|it| it.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), ["never-triggered"]);
}

#[test]
fn flows_that_wait_forever_are_named() {
    let outcome = run(&FILE.replace("size = \"100KB\"", "size = \"100MB\""));
    let waiting = outcome
        .warnings
        .iter()
        .find(|it| it.kind == "waiting-flows");
    insta::assert_snapshot!(
        waiting.expect("it is said").message,
        @"2 of 2 flows of traffic `second` never started, because flows of `first` that they follow had not ended: flow 0 of `first` (H0->H2) had delivered 6 MB of 100 MB"
    );
}

#[test]
fn flows_that_would_start_after_the_end_are_named() {
    let outcome = run(&FILE.replace("after = \"first\"", "after = \"first\"\nstart = \"999us\""));
    let late = outcome
        .warnings
        .iter()
        .find(|it| it.kind == "waiting-flows");
    insta::assert_snapshot!(
        late.expect("it is said").message,
        @"2 of 2 flows of traffic `second` never started: the flows that they follow had ended, but their own start, 1.01785184ms at the earliest, is after the end of the run at 1ms"
    );
}

/// The error about the file with one text in place of another.
fn refused(old: &str, new: &str) -> String {
    assert!(FILE.contains(old), "{old}");
    refusal(&FILE.replace(old, new))
}

#[test]
fn wrong_entries_are_refused() {
    let cases = [
        ("after = \"first\"", "after = \"frist\""),
        ("after = \"first\"", "after = \"second\""),
        ("size = \"100KB\"", "size = \"100KB\"\nafter = \"second\""),
        (
            "from = \"H2\"\nto = \"H0..H1\"",
            "from = \"H3\"\nto = \"H0..H1\"",
        ),
        (
            "after = \"first\"",
            "after = \"first\"\nafter_end = \"acknowledged\"",
        ),
        ("to = \"H2\"\nsize = \"100KB\"", "to = \"H2\""),
        (
            "to = \"H0..H1\"\nsize = \"10KB\"",
            "to = \"H0\"\nsize = \"10KB\"\nafter_match = \"each\"",
        ),
        (
            "from = \"H2\"\nto = \"H0..H1\"",
            "from = \"H0..H1\"\nto = \"H2\"\nafter_match = \"each\"",
        ),
        ("after = \"first\"", "after_end = \"delivered\""),
    ];
    let errors = cases.map(|(old, new)| refused(old, new)).join("\n\n");
    insta::assert_snapshot!(errors, @r#"
    test.toml:26:9: there is no traffic `frist`
    help: did you mean `first`?

    test.toml:26:9: traffic `second` waits for itself
    help: name another entry, or remove `after`

    test.toml:19:9: traffic `first` waits for itself
    help: let one of them start at a fixed time: remove its `after`

    test.toml:26:9: H3 sends in `second`, but received no flow of `first` to wait for
    help: let H3 receive in `first`, or, if it sends there, set after_end = "acknowledged"

    test.toml:26:9: H2 sends in `second`, but sent no flow of `first` to wait for
    help: let H2 send in `first`, or, if it receives there, set after_end = "delivered"

    test.toml:25:9: flows of `first` have no size and never end
    help: give them a `size`

    test.toml:27:9: `second` has 1 flow, `first` has 2 flows: numbers of flows must be equal
    help: give both entries the same number of flows, or set after_match = "all"

    test.toml:27:9: flow 1 of `second` starts at H0, but H2 received flow 1 of `first`
    help: a flow follows one that ends at its own sender

    test.toml:26:13: `after_end` has no effect
    help: remove it, or add after = "NAME" with the name of another entry
    "#);
}
