//! Estimated against measured costs of runs.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use unpause_scenario::{Cost, Effort, NoProgress, Options, Scenario, costs, execute};

use crate::small::parsed;

/// Two hosts at 10 Gb/s send to a third for this long; all packets to it and the causes of PAUSEs are recorded.
fn overload(duration: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{duration}"
        [topology]
        builder = "single-switch"
        hosts = 3
        rate = "10Gbps"
        delay = "1us"
        [pfc]
        xoff = "30KB"
        [[scheme]]
        name = "PFC"
        [[traffic]]
        name = "two"
        kind = "flow"
        from = "H1..H2"
        to = "H0"
        record = true
        [probes]
        interval = "10us"
        ports = ["*->H0"]
        packets = ["*->H0"]
        causes = true
        "#
    );
    parsed(&text)
}

fn expected(scenario: &Scenario, effort: Effort) -> Cost {
    let costs = costs(scenario, &Options::default(), effort).expect("all schemes are there");
    Cost::of_all(&costs, true)
}

fn assert_about(what: &str, estimate: u64, taken: f64) {
    let factor = estimate as f64 / taken;
    assert!(
        (1.0 / 1.5..1.5).contains(&factor),
        "{what}: {estimate} expected, {taken} taken"
    );
}

#[test]
fn rows_are_those_of_the_run() {
    let scenario = overload("2ms");
    let cost = expected(&scenario, Effort::Thorough);
    let tables = execute(&scenario, &Options::default(), &NoProgress)
        .expect("it runs")
        .tables;
    let of = |name: &str| tables.get(name).expect("it is a table").num_rows() as f64;
    assert!(of("causes") > 100.0);
    assert_about("causes", cost.causes, of("causes"));
    assert_about("packets", cost.packets, of("packets"));
    assert_about("samples of ports", cost.port_samples, of("port_series"));
    assert_about("samples of flows", cost.flow_samples, of("flow_series"));
    assert_about("flows", cost.flows, of("flows"));
}

/// A minute: nobody runs it to know what it takes.
#[test]
fn a_long_run_is_known_by_its_beginning() {
    let cost = expected(&overload("60s"), Effort::Counted(40_000));
    // The link carries frames of 1,048 bytes and 24 of framing.
    let packets = 60.0 * 10e9 / 8.0 / 1_072.0;
    assert_about("packets", cost.packets, packets);
    assert!(cost.causes as f64 > packets / 100.0, "{cost:?}");
    // A record of each, and more of each cause.
    assert!(cost.memory_bytes as f64 > 200.0 * packets, "{cost:?}");
    assert!(cost.disk_bytes as f64 > packets, "{cost:?}");
}

/// Whatever else the machine does, only the time of a core may differ.
#[test]
fn a_counted_effort_answers_the_same_again() {
    let scenario = overload("60s");
    let once = || Cost {
        core_s: 0.0,
        ..expected(&scenario, Effort::Counted(20_000))
    };
    assert_eq!(once(), once());
    // More of the run is tried, and another cost is expected than without a trial.
    let untried = expected(&scenario, Effort::Counted(0));
    assert_ne!(once().causes, untried.causes);
}

#[test]
fn polls_of_watchdogs_take_time() {
    let with = |poll: &str| {
        let text = format!(
            r#"
            duration = "10ms"
            [topology]
            builder = "single-switch"
            hosts = 3
            rate = "10Gbps"
            delay = "1us"
            [switch.watchdog]
            poll_interval = "{poll}"
            detection_time = "1ms"
            restoration_time = "1ms"
            [[scheme]]
            name = "PFC"
            [[traffic]]
            name = "one"
            kind = "flow"
            from = "H1"
            to = "H0"
            size = "10KB"
            "#
        );
        let scenario = parsed(&text);
        expected(&scenario, Effort::Quick).core_s
    };
    // 10 million polls of a switch with three ports and two classes, 17 ns each.
    let more = with("1ns") - with("1ms");
    assert!((more - 0.17).abs() < 1e-3, "{more}");
}

/// Packets in flight at the end have crossed the links behind them only.
#[test]
fn a_path_longer_than_the_run_is_crossed_in_part() {
    for delay in ["1us", "700us", "10ms"] {
        let text = format!(
            r#"
            duration = "1ms"
            [topology]
            builder = "single-switch"
            hosts = 3
            rate = "100Gbps"
            delay = "{delay}"
            [[scheme]]
            name = "PFC"
            [[traffic]]
            name = "two"
            kind = "burst"
            from = "H1..H2"
            to = "H0"
            size = "1GB"
            "#
        );
        let scenario = parsed(&text);
        let outcome = execute(&scenario, &Options::default(), &NoProgress).expect("it runs");
        let hops = &outcome.tables.runs["packet_hops"];
        let hops = hops.as_primitive::<UInt64Type>().value(0);
        assert!(hops > 20_000, "{delay}: {hops}");
        let untried = expected(&scenario, Effort::Counted(0)).packet_hops;
        assert_about(delay, untried, hops as f64);
    }
}
