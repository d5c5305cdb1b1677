//! Hosts with two NICs that send PAUSE: slow receivers and storms.

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{UInt32Type, UInt64Type};
use unpause_scenario::Outcome;

use crate::operators::{fct_ns, sum, text_of};
use crate::small::{parse, run};

/// Two hosts with two NICs each.
const TWO_NICS: &str = r#"
duration = "5ms"
[topology]
builder = "rails"
servers = 2
gpus_per_server = 1
servers_per_leaf = 2
tors = 2
rate = "100Gbps"
delay = "500ns"
[probes]
causes = true
[[scheme]]
name = "PFC"
"#;

/// H1 sends to H0 by 16 flows, which share both NICs of each; and what `more` says.
fn with(more: &str) -> String {
    let flow = |at: u32| {
        let port = 1000 + 131 * at;
        format!(
            "[[traffic]]\nname = \"f{at}\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\nsize = \"400KB\"\n\
             source_port = {port}\n"
        )
    };
    let flows: String = (0..16).map(flow).collect();
    format!("{TWO_NICS}{flows}{more}")
}

const LEAVES: [&str; 2] = ["leaf0", "leaf1"];

/// PAUSEs that `causes` has from the NIC of H0 at this leaf, and whether each says that it began there.
fn causes(outcome: &Outcome, leaf: &str) -> (usize, bool) {
    let causes = &outcome.tables.causes;
    let text = |name: &str, row: usize| text_of(&causes[name], row);
    let is_own = |row: &usize| text("node", *row) == "H0" && text("peer", *row) == leaf;
    let own: Vec<usize> = (0..causes.num_rows()).filter(is_own).collect();
    let says = |row: &usize| {
        let root = ["root_kind", "root_node", "root_peer"].map(|name| text(name, *row));
        root == ["nic", "H0", leaf] && !causes["root_port"].is_null(*row)
    };
    let ids = causes["cause_id"].as_primitive::<UInt32Type>();
    let mut of_own: Vec<u32> = own.iter().map(|row| ids.value(*row)).collect();
    of_own.dedup();
    (of_own.len(), own.iter().all(says))
}

/// Every byte arrives, and nothing was lost.
fn assert_complete(outcome: &Outcome) {
    let flows = &outcome.tables.flows;
    let delivered = flows["delivered_bytes"].as_primitive::<UInt64Type>();
    assert_eq!(delivered.values().iter().sum::<u64>(), 16 * 400_000);
    for column in ["dropped_packets", "headroom_dropped_packets"] {
        assert_eq!(sum(outcome, column, ("*", "*")), 0, "{column}");
    }
    assert!(fct_ns(outcome).iter().all(|it| *it > 0.0));
}

#[test]
fn each_nic_of_a_slow_host_sends_pause() {
    let slow = "[slow_receiver]\nhosts = \"H0\"\ndrain_rate = \"20Gbps\"\n";
    let [calm, slow] = ["", slow].map(|more| run(&with(more)));
    for found in [&calm, &slow] {
        assert_complete(found);
    }
    for leaf in LEAVES {
        assert_eq!(sum(&calm, "pause_frames", ("H0", leaf)), 0);
        let events = sum(&slow, "pause_events", ("H0", leaf));
        assert!(events > 0);
        assert_eq!(causes(&slow, leaf), (events as usize, true));
        assert!(sum(&slow, "max_ingress_bytes", ("H0", leaf)) > 256_000);
    }
    // A fifth of the rate of each NIC.
    let last = |outcome: &Outcome| fct_ns(outcome).into_iter().fold(0.0, f64::max);
    let times = last(&slow) / last(&calm);
    assert!((4.5..5.1).contains(&times), "{times}");
}

#[test]
fn a_storm_is_of_all_nics_of_a_host_or_of_one() {
    let calm = fct_ns(&run(&with("")));
    for (key, stormy) in [
        ("node = \"H0\"", [true, true]),
        ("link = \"H0->leaf0\"", [true, false]),
        ("link = \"H0->leaf1\"", [false, true]),
    ] {
        let storm = format!(
            "[[event]]\nkind = \"pause-storm\"\n{key}\nat = \"100us\"\nuntil = \"300us\"\n"
        );
        let found = run(&with(&storm));
        assert_complete(&found);
        for (leaf, is_stormy) in LEAVES.into_iter().zip(stormy) {
            let events = sum(&found, "pause_events", ("H0", leaf));
            assert_eq!(events, u64::from(is_stormy), "{key}, {leaf}");
            assert_eq!(causes(&found, leaf), (usize::from(is_stormy), true));
        }
        // A flow is as late as the storm is long, or not at all; each leaf has some.
        let late = fct_ns(&found)
            .into_iter()
            .zip(&calm)
            .map(|(it, calm)| it - calm);
        let held: Vec<bool> = late.map(|it| it > 150_000.0).collect();
        assert!(held.iter().any(|it| *it), "{key}");
        assert_eq!(held.iter().all(|it| *it), stormy == [true, true], "{key}");
    }
}

#[test]
fn what_is_no_nic_has_no_storm() {
    for (keys, said) in [
        (
            "link = \"H0->leaf0\"\nnode = \"H0\"",
            "both `link` and `node` are set",
        ),
        ("link = \"H0-leaf0\"", "write link = \"H0->leaf0\""),
        ("link = \"leaf0-H0\"", "write link = \"H0->leaf0\""),
        ("link = \"leaf0->H0\"", "`leaf0` is a switch"),
        ("link = \"H0->H1\"", "there is no link between H0 and H1"),
        ("link = \"all\"", "`all` is not a link"),
    ] {
        let storm = format!("[[event]]\nkind = \"pause-storm\"\n{keys}\nat = \"1ms\"\n");
        let error = parse(&with(&storm)).expect_err(keys);
        assert!(error.contains(said), "{said}:\n{error}");
        assert!(error.contains("test.toml:"), "{error}");
    }
    let slow = "[slow_receiver]\nhosts = \"H0\"\n";
    let storm = "[[event]]\nkind = \"pause-storm\"\nlink = \"H0->leaf0\"\nat = \"1ms\"\n";
    let error = parse(&with(&format!("{slow}{storm}"))).expect_err("it is both");
    assert!(error.contains("`H0` is a slow receiver"), "{error}");
}
