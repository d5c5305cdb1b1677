//! Swift and CUBIC in scenarios: their keys, their defaults, and that they run.

use arrow_array::Array as _;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_protocols::congestion_control::swift::Packets;
use unpause_protocols::congestion_control::{Config, cubic, swift};
use unpause_protocols::congestion_point;
use unpause_protocols::units::{Fraction, Time};
use unpause_scenario::{NoProgress, Options, execute};

use crate::small::{parsed, refusal, run};

const SCENARIO: &str = r#"
duration = "1ms"

[topology]
builder = "single-switch"
hosts = 5
rate = "10Gbps"
delay = "5us"

[[scheme]]
name = "Swift"
congestion_control = "swift"

[[scheme]]
name = "Swift, own values"
congestion_control = "swift"
swift = { base_target = "40us", fs_min_cwnd = 0.5, fs_max_cwnd = 50, ai = "1/4", beta = 0.4, max_mdf = 0.3, min_cwnd = 0.01, retx_reset_threshold = 3 }

[[scheme]]
name = "CUBIC"
congestion_control = "cubic"

[[scheme]]
name = "beside"
congestion_control = "dcqcn"
tcp = "cubic"
cubic = { c = 0.5, beta = "3/4", fast_convergence = false, ecn = true }

[[traffic]]
name = "incast"
kind = "flow"
from = "H1..H4"
to = "H0"
record = true
"#;

#[test]
fn keys_set_the_parameters_and_the_topology_the_target() {
    let scenario = parsed(SCENARIO);
    let laws = |run: usize| {
        let scheme = &scenario.runs()[run].config.scheme;
        (&scheme.roce, &scheme.tcp)
    };
    // Four links of 5 us there and back, and half as much again.
    let derived = swift::Params {
        base_target: Time::from_us(30),
        fs_range: Time::from_us(150),
        ..swift::Params::default()
    };
    assert_eq!(laws(0).0, &Config::Swift(derived));
    let own = swift::Params {
        base_target: Time::from_us(40),
        fs_range: Time::from_us(200),
        fs_min_cwnd: Packets::of(1, 2),
        fs_max_cwnd: Packets::of(50, 1),
        ai: Packets::of(1, 4),
        beta: Fraction::of(2, 5),
        max_mdf: Fraction::of(3, 10),
        min_cwnd: Packets::of(1, 100),
        retx_reset_threshold: 3,
    };
    assert_eq!(laws(1).0, &Config::Swift(own));
    assert_eq!(laws(2).1, &Config::Cubic(cubic::Params::default()));
    let own = cubic::Params {
        c: Fraction::of(1, 2),
        beta: Fraction::of(3, 4),
        fast_convergence: false,
        ecn: true,
    };
    assert_eq!(laws(3).1, &Config::Cubic(own));
    assert!(matches!(laws(3).0, Config::Dcqcn(_)));
}

#[test]
fn drops_by_chance_are_those_of_the_table() {
    let dropping = SCENARIO.replace(
        "congestion_control = \"cubic\"\n",
        "congestion_control = \"cubic\"\ncubic = { drop_probability = \"1%\" }\n",
    );
    let point = |text: &str| {
        let scenario = parsed(text);
        scenario.runs()[2].config.scheme.congestion_point.clone()
    };
    assert_eq!(point(SCENARIO), congestion_point::Config::None);
    assert!(matches!(
        point(&dropping),
        congestion_point::Config::Faults(_)
    ));
}

#[test]
fn values_that_cannot_be_are_explained() {
    for (from, to, why) in [
        (
            "ai = \"1/4\"",
            "ai = 0",
            "`ai` is invalid: no packet at all",
        ),
        (
            "fs_max_cwnd = 50",
            "fs_max_cwnd = 0.1",
            "`fs_min_cwnd` is above `fs_max_cwnd`",
        ),
        (
            "beta = \"3/4\"",
            "beta = 2",
            "`beta` is invalid: more than 1",
        ),
    ] {
        let said = refusal(&SCENARIO.replace(from, to));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_window_of_roce_stands_beside_its_rate_in_the_tables() {
    let scenario = parsed(SCENARIO);
    let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
    let series = &outcome.tables.flow_series;
    let column = |name| series.column_by_name(name).unwrap();
    let (runs, cwnd, rate) = (
        column("run"),
        column("cwnd_bytes"),
        column("controller_rate_bps"),
    );
    let runs = runs.as_primitive::<arrow_array::types::UInt32Type>();
    let cwnd = cwnd.as_primitive::<UInt64Type>();
    let mut seen = [0; 4];
    for row in 0..series.num_rows() {
        let run = runs.value(row) as usize;
        seen[run] += 1;
        // Swift has both, CUBIC over TCP a window, DCQCN a rate.
        let expected = [(true, true), (true, true), (true, false), (false, true)][run];
        assert_eq!(
            (cwnd.is_valid(row), rate.is_valid(row)),
            expected,
            "run {run}"
        );
    }
    assert!(seen.iter().all(|rows| *rows > 0), "{seen:?}");
}

/// The time of a reduction of 80 messages of 100 bytes each way, over a path whose round trip is long, and with these keys.
fn small_messages(host: &str, scheme: &str) -> f64 {
    let text = format!(
        "duration = \"10ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"5us\"\n[host]\npayload = \"1000B\"\n{host}\n[[scheme]]\nname = \"S\"\n{scheme}\n[[job]]\nname = \"J\"\nranks = 2\ncollective = \"all-reduce\"\nsize = \"8000B\"\nslices = 40\n"
    );
    let jobs = run(&text).tables.jobs;
    let column = jobs.column_by_name("mean_ns").expect("it is a column");
    column.as_primitive::<Float64Type>().value(0)
}

#[test]
fn packets_of_small_messages_count_with_their_bytes() {
    for scheme in ["", "loss_recovery = \"selective-repeat\""] {
        let free = small_messages("", scheme);
        let by_window = |window: u32| small_messages(&format!("window = \"{window}B\""), scheme);
        // All 40 messages of both steps fit in.
        assert_eq!(by_window(8000), free, "{scheme}");
        // While less than the window is in flight, another message goes: ten, and nine.
        assert_eq!(by_window(901), by_window(1000), "{scheme}");
        assert!(by_window(901) > free, "{scheme}");
        assert!(by_window(900) > by_window(901), "{scheme}");
        // One at a time, each for a round trip of 20 us at least.
        assert!(by_window(1) >= 80.0 * 20_000.0, "{scheme}");
    }
}
