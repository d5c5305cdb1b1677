//! Keys that every switch model has, and those of one, as scenario files say them: that they have an effect.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt64Type};
use unpause_scenario::Tables;
use unpause_sim::config::{InputQueues, SwitchModel};

use crate::small::{parsed, run};

fn ports(switch: &str, priority: u8) -> Tables {
    let text = format!(
        r#"
duration = "20ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "100ns"
{switch}
[[scheme]]
name = "PFC"
[[traffic]]
name = "low"
kind = "flow"
from = "H0"
to = "H2"
priority = 2
[[traffic]]
name = "high"
kind = "flow"
from = "H1"
to = "H2"
priority = {priority}
"#
    );
    let outcome = run(&text);
    outcome.tables
}

/// A column of the ports that sent data of `priority`, the largest value.
fn largest(tables: &Tables, column: &str, priority: u8) -> u64 {
    let priorities = tables.ports["priority"].as_primitive::<UInt8Type>();
    let values = tables.ports[column].as_primitive::<UInt64Type>();
    let pairs = priorities.values().iter().zip(values.values());
    let of_priority = pairs.filter(|(it, _)| **it == priority);
    of_priority.map(|(_, value)| *value).max().unwrap_or(0)
}

const MODELS: [(&str, &str); 3] = [
    ("shared-buffer", ""),
    ("cioq", ""),
    (
        "input-queued",
        "[switch.input_queued]\nspeedup = 2\noutput_buffer = \"40KB\"\n",
    ),
];

#[test]
fn priorities_take_turns_in_every_model() {
    for (model, table) in MODELS {
        let share = |scheduler: &str| {
            let switch = format!(
                "[switch]\nmodel = \"{model}\"\nlossless = [2, 3]\n{table}{scheduler}[pfc]\nxoff = \"50KB\"\n"
            );
            let tables = ports(&switch, 3);
            // The host's own port has sent less than the switch's.
            let sent = |priority| largest(&tables, "tx_bytes", priority) as f64;
            sent(2) / sent(3)
        };
        assert!(share("") < 0.1, "{model}");
        let turns = share("[switch.scheduler]\nkind = \"dwrr\"\nweights = { 2 = 7, 3 = 3 }\n");
        assert!((turns / (7.0 / 3.0) - 1.0).abs() < 0.05, "{model}: {turns}");
    }
}

#[test]
fn lossy_queues_hold_their_packets_in_every_model() {
    let pipeline = (
        "pipeline",
        "[switch.pipeline]\npackets_per_second = 100000000\n",
    );
    for (model, table) in MODELS.into_iter().chain([pipeline]) {
        let longest = |limit: &str| {
            let switch = format!("[switch]\nmodel = \"{model}\"\nlossless = [4]\n{limit}{table}");
            largest(&ports(&switch, 2), "max_queue_bytes", 2)
        };
        assert_eq!(longest("lossy_queue_packets = 5\n"), 5 * 1048, "{model}");
        assert!(longest("") > 5 * 1048, "{model}");
    }
}

#[test]
fn frames_wait_at_inputs_in_fifos_or_virtual_output_queues() {
    let queues = |rest: &str| {
        let text = format!(
            "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"10Gbps\"\n\
             delay = \"1us\"\n[switch]\nmodel = \"input-queued\"\n[switch.input_queued]\n{rest}\n\
             [[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"a\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\n"
        );
        let scenario = parsed(&text);
        match &scenario.runs()[0].config.switch.model {
            SwitchModel::InputQueued(config) => (config.queues, config.cell_bytes),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(queues(""), (InputQueues::Voq { iterations: 4 }, 64));
    assert_eq!(
        queues("iterations = 1\ncell = \"1KB\""),
        (InputQueues::Voq { iterations: 1 }, 1000)
    );
    assert_eq!(queues("queues = \"fifo\""), (InputQueues::Fifo, 64));
}

/// Three ports of 30 KB, a frame of 1048 B more for each, and one ninth of the rest is where the one flow meets an eighth of what it
/// leaves free: XOFF at the 20th frame, of 20,960 B. Without the frames, which a reserve leaves out, it is the 21st.
#[test]
fn a_dynamic_threshold_adds_a_frame_to_a_written_headroom() {
    let held = |reserve: &str| {
        let text = format!(
            r#"
duration = "100us"
[topology]
builder = "explicit"
hosts = "H0..H2"
switches = ["S"]
rate = "100Gbps"
delay = "1us"
link = [{{ a = "H0", b = "S" }}, {{ a = "H1", b = "S", rate = "1Gbps" }}, {{ a = "H2", b = "S" }}]
[switch]
buffer = "279640B"
[pfc]
alpha = "1/8"
headroom = "30KB"
{reserve}
[probes]
causes = true
[[scheme]]
name = "PFC"
[[traffic]]
name = "f"
kind = "flow"
from = "H0"
to = "H1"
"#
        );
        let outcome = run(&text);
        let causes = &outcome.tables.causes;
        causes["held_bytes"].as_primitive::<UInt64Type>().value(0)
    };
    assert_eq!(held(""), 20 * 1048);
    assert_eq!(held("reserve = \"0B\""), 21 * 1048);
}
