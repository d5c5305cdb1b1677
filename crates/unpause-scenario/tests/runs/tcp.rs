//! TCP in scenarios: which flows it carries, what the tables say of it.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use unpause_protocols::units::Time;
use unpause_protocols::{congestion_control, congestion_point};
use unpause_scenario::Scenario;
use unpause_sim::config::{AckPriority, Config, Qdisc};
use unpause_sim::traffic::{Delays, ExtraDelay, TrafficSpec, Transport};

use crate::small::{parsed, run};

const SCENARIO: &str = r#"
duration = "5ms"

[topology]
builder = "single-switch"
hosts = 5
rate = "10Gbps"
delay = "5us"

[switch]
lossless = []

[host]
extra_delay = ["1us", "20us"]

[tcp]
min_rto = "2ms"
dupack_threshold = "none"
max_burst = "none"
ack_priority = "control"

[pias]
thresholds = ["10KB"]
priorities = [5, 2]

[[scheme]]
name = "DCTCP"
congestion_control = "dctcp"
dctcp = { k = "80KB", g = "1/8" }

[[scheme]]
name = "mixed"
congestion_control = "dcqcn"
tcp = "ecn-tcp"

[[traffic]]
name = "default"
kind = "poisson"
from = "H1..H4"
to = "H0"
size = "20KB"
load = 0.2
extra_delay = "7us"

[[traffic]]
name = "open loop"
kind = "flow"
from = "H1"
to = "H2"
size = "20KB"
controlled = false

[[traffic]]
name = "long"
kind = "flow"
from = "H3"
to = "H2"
transport = "tcp"
record = true

[[traffic]]
name = "RDMA"
kind = "flow"
from = "H4"
to = "H2"
transport = "roce"
record = true

[[traffic]]
name = "nothing"
kind = "flow"
from = "H4"
to = "H1"
size = "0B"
transport = "tcp"

[probes]
interval = "100us"
packets = ["H3->S0"]
"#;

/// Transport, priority and extra delay of each entry.
fn entries(config: &Config) -> Vec<(Transport, u8, ExtraDelay)> {
    let of = |spec: &TrafficSpec| match spec {
        TrafficSpec::Flows(flows) => (flows[0].transport, flows[0].priority, flows[0].extra_delay),
        generated => {
            let flow = generated.settings().unwrap();
            (flow.transport, flow.priority, flow.extra_delay)
        }
    };
    config.traffic.iter().map(of).collect()
}

#[test]
fn a_window_law_makes_flows_tcp_unless_they_say_otherwise() {
    use Transport::{Roce, Tcp};
    let scenario = parsed(SCENARIO);
    let [dctcp, mixed] = scenario.runs() else {
        panic!("two schemes")
    };
    let drawn = ExtraDelay::Drawn(0);
    let others = [
        (Roce, 3, drawn),
        (Tcp, 5, drawn),
        (Roce, 3, drawn),
        (Tcp, 5, drawn),
    ];
    let seven = ExtraDelay::Fixed(Time::from_us(7));
    assert_eq!(entries(&dctcp.config)[0], (Tcp, 5, seven));
    assert_eq!(entries(&dctcp.config)[1..], others);
    assert_eq!(entries(&mixed.config)[0], (Roce, 3, seven));
    assert_eq!(entries(&mixed.config)[1..], others);
    let delays = Delays::OneOf([1, 20].map(Time::from_us).into());
    assert_eq!(dctcp.config.host.extra_delays, [delays]);
    assert_eq!(dctcp.config.data_priorities(), 1 << 2 | 1 << 3 | 1 << 5);
}

#[test]
fn laws_take_the_keys_of_tcp_and_their_own() {
    let scenario = parsed(SCENARIO);
    let [dctcp, mixed] = scenario.runs() else {
        panic!("two schemes")
    };
    let congestion_control::Config::Dctcp(law) = &dctcp.config.scheme.tcp else {
        panic!("DCTCP")
    };
    let tcp = &dctcp.config.host.tcp.recovery;
    assert_eq!((law.g_log2, tcp.rto.min), (3, Time::from_ms(2)));
    assert_eq!(
        (tcp.duplicate_threshold, tcp.limited_transmit),
        (u32::MAX, false)
    );
    assert_eq!((tcp.max_burst, tcp.grow_only_if_limiting), (None, true));
    assert_eq!(dctcp.config.host.tcp.ack_priority, AckPriority::Control);
    let threshold = congestion_point::dctcp_red::Threshold::Bytes(80_000);
    assert_eq!(
        dctcp.config.scheme.congestion_point,
        congestion_point::Config::DctcpRed(congestion_point::dctcp_red::Params { threshold })
    );
    let scheme = &mixed.config.scheme;
    assert!(matches!(scheme.tcp, congestion_control::Config::EcnTcp(_)));
    assert!(matches!(scheme.roce, congestion_control::Config::Dcqcn(_)));
    assert!(matches!(
        scheme.congestion_point,
        congestion_point::Config::Red(_)
    ));
}

/// Differences of the ECN♯ authors' simulator.
#[test]
fn growth_queue_and_end_of_connections_are_keys() {
    let tcp = |source: &str| parsed(source).runs()[0].config.host.tcp.clone();
    let own = tcp(SCENARIO);
    assert_eq!((own.qdisc, own.fin), (Qdisc::Fq, false));
    let keys = "[tcp]\ngrow_only_if_limiting = false\nqdisc = \"pfifo\"\nfin = true";
    let theirs = tcp(&SCENARIO.replace("[tcp]", keys));
    assert_eq!((theirs.qdisc, theirs.fin), (Qdisc::Pfifo, true));
    assert!(own.recovery.grow_only_if_limiting && !theirs.recovery.grow_only_if_limiting);
}

fn texts<'a>(table: &'a RecordBatch, column: &str) -> Vec<&'a str> {
    let column = table.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().flatten().collect()
}

#[test]
fn tables_tell_tcp_from_roce() {
    let outcome = run(SCENARIO);
    let flows = &outcome.tables.flows;
    let (traffic, transport) = (texts(flows, "traffic"), texts(flows, "transport"));
    let delay = flows
        .column_by_name("extra_delay_ns")
        .unwrap()
        .as_primitive::<Float64Type>();
    let fct = flows
        .column_by_name("fct_ns")
        .unwrap()
        .as_primitive::<Float64Type>();
    let scheme = texts(flows, "scheme");
    assert!(traffic.len() > 40);
    for (row, name) in traffic.iter().enumerate() {
        let tcp = match *name {
            "default" => scheme[row] == "DCTCP",
            "long" | "nothing" => true,
            _ => false,
        };
        assert_eq!(
            transport[row],
            if tcp { "tcp" } else { "roce" },
            "{}",
            traffic[row]
        );
        match *name {
            "default" => assert_eq!(delay.value(row), 7_000.0),
            _ => assert!([1_000.0, 20_000.0].contains(&delay.value(row))),
        }
        // SYN, SYN-ACK and ACK over two links each.
        let no_bytes = 6.0 * (5_000.0 + 64.0 * 0.8);
        assert!(*name != "nothing" || (fct.value(row) - no_bytes).abs() < 2_000.0);
    }
    let series = &outcome.tables.flow_series;
    let traffic = texts(series, "traffic");
    let rate = series.column_by_name("controller_rate_bps").unwrap();
    let window = series
        .column_by_name("cwnd_bytes")
        .unwrap()
        .as_primitive::<UInt64Type>();
    assert!(traffic.contains(&"long") && traffic.contains(&"RDMA"));
    for (row, name) in traffic.iter().enumerate() {
        let tcp = *name == "long";
        assert_eq!((rate.is_null(row), window.is_null(row)), (tcp, !tcp));
        assert!(!tcp || window.value(row) >= 1_400);
    }
    let packets = &outcome.tables.packets;
    assert_eq!(texts(packets, "kind")[0], "syn");
    assert!(texts(packets, "kind").contains(&"tcp-data"));
    assert!(texts(packets, "node").iter().all(|node| *node == "H3"));
}

#[test]
fn a_connection_without_an_answer_is_reported() {
    let source = SCENARIO
        .replace(
            "congestion_control = \"dctcp\"\ndctcp = { k = \"80KB\", g = \"1/8\" }",
            "congestion_control = \"newreno\"\nnewreno = { drop_probability = 1 }",
        )
        .replace("ack_priority = \"control\"", "syn_tries = 2");
    let outcome = run(&source);
    let said = outcome.warnings.iter().filter(|warning| warning.run == 0);
    let said: Vec<String> = said.map(|w| format!("{}: {}", w.kind, w.message)).collect();
    let gave_up =
        "gave-up: 1 of 1 flows of traffic `long` gave up, first at 3ms: the peer did not answer";
    assert!(said.iter().any(|message| message == gave_up), "{said:?}");
}

/// Neither its own `transport` nor what it needs TCP for is asked of a scheme that leaves it out.
#[test]
fn an_entry_is_tcp_in_the_schemes_that_take_part() {
    let text = |schemes: &str| {
        format!(
            "duration = '1ms'
            topology = {{ builder = 'single-switch', hosts = 3, rate = '10Gbps', delay = '1us' }}
            pias = {{ thresholds = ['10KB'], priorities = [5, 4] }}
            scheme = [{{ name = 'PFC' }}, {{ name = 'both', tcp = 'dctcp' }}]
            [[traffic]]
            name = 'over TCP'
            kind = 'flow'
            from = 'H0'
            to = 'H1'
            size = '0B'
            transport = 'tcp'
            {schemes}
            [[traffic]]
            name = 'over RoCE'
            kind = 'flow'
            from = 'H2'
            to = 'H1'
            size = '1KB'
            priority = 3
            offered = '1Gbps'
            schemes = 'PFC'"
        )
    };
    let scenario = parsed(&text("schemes = 'both'"));
    let [pfc, both] = scenario.runs() else {
        panic!("two schemes")
    };
    assert!(!pfc.config.uses(Transport::Tcp) && both.config.uses(Transport::Tcp));
    let error = Scenario::parse(&text(""), Path::new("test.toml")).unwrap_err();
    assert_eq!(error.to_string(), "scheme `PFC` has no TCP");
}

/// DCTCP beside CUBIC without ECN, 10 Gb/s, K = 65 KB (Judd, NSDI 2015, section 5): where the switch drops what it cannot mark,
/// CUBIC starves; where it drops nothing, CUBIC fills the buffer and DCTCP starves.
#[test]
fn a_law_without_ecn_starves_or_starves_the_other() {
    let text = |queues: &str| {
        format!(
            "duration = '50ms'
            topology = {{ builder = 'single-switch', hosts = 3, rate = '10Gbps', delay = '10us' }}
            switch = {{ lossless = [], lossy_queue = '500KB' }}
            [[scheme]]
            name = 'DCTCP'
            congestion_control = 'dctcp'
            {queues}
            [[traffic]]
            name = 'dctcp'
            kind = 'flow'
            from = 'H1'
            to = 'H0'
            [[traffic]]
            name = 'cubic'
            kind = 'flow'
            from = 'H2'
            to = 'H0'
            tcp = 'cubic'"
        )
    };
    let share = |queues: &str| {
        let outcome = run(&text(queues));
        let delivered = outcome.tables.flows["delivered_bytes"].as_primitive::<UInt64Type>();
        let [dctcp, cubic] = [0, 1].map(|row| delivered.value(row) as f64);
        assert!(dctcp + cubic > 0.9 * 62.5e6);
        cubic / (dctcp + cubic)
    };
    let drops = share("marking = 'wred'\nwred = { kmin = '65KB', kmax = '65KB' }");
    let marks = share("dctcp = { k = '65KB' }");
    assert!(drops < 0.01, "{drops}");
    assert!(marks > 0.95, "{marks}");
}

/// The law of an entry goes with any scheme, and the scheme's own has the scheme's parameters.
#[test]
fn an_entry_may_have_a_law_of_its_own() {
    let text = "duration = '1ms'
        topology = { builder = 'single-switch', hosts = 3, rate = '10Gbps', delay = '1us' }
        switch = { lossless = [3] }
        scheme = [
            { name = 'PCN', congestion_control = 'pcn' },
            { name = 'CUBIC', congestion_control = 'cubic', cubic = { c = 1 } },
            { name = 'DCTCP', congestion_control = 'dctcp' },
        ]
        [[traffic]]
        name = 'first'
        kind = 'flow'
        from = 'H0'
        to = 'H1'
        [[traffic]]
        name = 'cubic'
        kind = 'flow'
        from = 'H2'
        to = 'H1'
        priority = 2
        tcp = 'cubic'";
    let scenario = parsed(text);
    let default = congestion_control::Config::Cubic(Default::default());
    for (run, of_first) in scenario.runs().iter().zip(["roce", "cubic", "dctcp"]) {
        let scheme = &run.config.scheme;
        let law = scheme.tcp_law(1);
        assert!(run.config.uses(Transport::Tcp));
        match of_first {
            // The scheme's own c, for both.
            "cubic" => assert!(*law != default && law == scheme.tcp_law(0)),
            _ => assert!(*law == default && *scheme.tcp_law(0) != default),
        }
    }
    let error = Scenario::parse(&text.replace("'cubic'\n", "'reno'"), Path::new("test.toml"));
    assert!(error.is_err());
}
