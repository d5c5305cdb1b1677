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

/// A permutation over two tiers: each host of the first half sends `size` to one of the second, four links away.
fn permutation(size: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "10ms"
        [topology]
        builder = "leaf-spine"
        leaves = 4
        spines = 4
        hosts_per_leaf = 4
        host_rate = "100Gbps"
        fabric_rate = "100Gbps"
        delay = "1us"
        [host]
        payload = "1000B"
        [[scheme]]
        name = "DCQCN"
        congestion_control = "dcqcn"
        [[traffic]]
        name = "perm"
        kind = "permutation"
        size = "{size}"
        "#
    );
    parsed(&text)
}

/// The trial is over before most packets of the larger sizes have moved: they are late, and they are sent all the same.
#[test]
fn flows_that_have_the_time_count_in_full() {
    let mut last = 0;
    for (size, packets) in [("50KB", 50), ("200KB", 200), ("1MB", 1_000), ("5MB", 5_000)] {
        let scenario = permutation(size);
        let cost = expected(&scenario, Effort::Thorough);
        let shortly_tried = expected(&scenario, Effort::Counted(2_000));
        let tables = execute(&scenario, &Options::default(), &NoProgress)
            .expect("it runs")
            .tables;
        let flows = tables.get("flows").expect("it is a table").num_rows();
        // Data and as many ACKs on four links, or on two within a leaf.
        let most = (flows * packets * 2 * 4) as f64;
        for cost in [cost, shortly_tried] {
            let part = cost.packet_hops as f64 / most;
            assert!((0.66..=1.1).contains(&part), "{size}: {cost:?} of {most}");
        }
        assert!(cost.packet_hops > last, "{size}");
        last = cost.packet_hops;
    }
}

/// More flows than an estimate reads, which all start at once.
#[test]
fn the_rest_of_many_flows_counts_as_those_that_are_read() {
    let scenario = parsed(
        r#"
        duration = "1s"
        [topology]
        builder = "single-switch"
        hosts = 512
        rate = "400Gbps"
        delay = "500ns"
        [host]
        payload = "4096B"
        [[scheme]]
        name = "PFC"
        [[job]]
        name = "j"
        ranks = 512
        collective = "all-to-all"
        size = "64MiB"
        messages = false
        "#,
    );
    let cost = expected(&scenario, Effort::Memory);
    // 128 KiB to each other rank: 32 packets and 32 ACKs on two links.
    assert_about("hops", cost.packet_hops, (512 * 511 * 32 * 2 * 2) as f64);
    assert_about("flows", cost.flows, (512 * 511) as f64);
    // The run has a peak of 1,157 MB.
    assert_about("memory", cost.memory_bytes, 1_157e6);
}
