//! Entries of `[[traffic]]` that start when flows of others have ended.

use std::ops::ControlFlow;
use std::path::Path;

use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute};
use unpause_sim::results::FlowRecord;

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

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Path::new("mine.toml")).map_err(|error| error.explain())
}

fn run(text: &str) -> Outcome {
    let scenario = parse(text).unwrap_or_else(|why| panic!("{why}"));
    execute(&scenario, &Options::default(), &NoProgress)
        .unwrap_or_else(|it| panic!("{}", it.explain()))
}

#[test]
fn the_second_entry_starts_when_the_first_has_ended() {
    let scenario = parse(FILE).unwrap_or_else(|why| panic!("{why}"));
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
        @"2 of 2 flows of traffic `second` never started, because flows of `first` that they follow had not ended"
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
    parse(&FILE.replace(old, new))
        .map(|_| ())
        .expect_err("it is refused")
}

#[test]
fn an_entry_that_is_not_there() {
    insta::assert_snapshot!(refused("after = \"first\"", "after = \"frist\""));
}

#[test]
fn an_entry_that_follows_itself() {
    insta::assert_snapshot!(refused("after = \"first\"", "after = \"second\""));
}

#[test]
fn entries_that_follow_one_another() {
    insta::assert_snapshot!(refused(
        "size = \"100KB\"",
        "size = \"100KB\"\nafter = \"second\""
    ));
}

#[test]
fn a_host_at_which_nothing_ends() {
    insta::assert_snapshot!(refused(
        "from = \"H2\"\nto = \"H0..H1\"",
        "from = \"H3\"\nto = \"H0..H1\""
    ));
}

#[test]
fn a_host_that_has_sent_nothing() {
    insta::assert_snapshot!(refused(
        "after = \"first\"",
        "after = \"first\"\nafter_end = \"acknowledged\""
    ));
}

#[test]
fn flows_without_an_end() {
    insta::assert_snapshot!(refused("to = \"H2\"\nsize = \"100KB\"", "to = \"H2\""));
}

#[test]
fn flows_one_by_one_that_are_not_as_many() {
    insta::assert_snapshot!(refused(
        "to = \"H0..H1\"\nsize = \"10KB\"",
        "to = \"H0\"\nsize = \"10KB\"\nafter_match = \"each\""
    ));
}

#[test]
fn flows_one_by_one_that_end_elsewhere() {
    insta::assert_snapshot!(refused(
        "from = \"H2\"\nto = \"H0..H1\"",
        "from = \"H0..H1\"\nto = \"H2\"\nafter_match = \"each\""
    ));
}

#[test]
fn keys_without_after() {
    insta::assert_snapshot!(refused("after = \"first\"", "after_end = \"delivered\""));
}
