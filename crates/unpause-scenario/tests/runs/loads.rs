//! The load that entries of traffic bring, beside the one that they ask for.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_results::tables::Tables;
use unpause_scenario::Scenario;

use crate::small::{messages, run};

fn text(top: &str, entry: &str) -> String {
    format!(
        "{top}\n[topology]\nbuilder = \"single-switch\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"web\"\nkind = \"poisson\"\n{entry}\n"
    )
}

fn value(tables: &Tables, column: &str) -> f64 {
    let column = tables.loads.column_by_name(column).expect("it is a column");
    column.as_primitive::<Float64Type>().value(0)
}

/// Bytes of the flows of table `flows` that start within these ns.
fn started(tables: &Tables, from: f64, until: f64) -> u64 {
    let starts = tables.flows.column_by_name("start_ns").unwrap();
    let sizes = tables.flows.column_by_name("size_bytes").unwrap();
    let starts = starts.as_primitive::<Float64Type>().iter().flatten();
    let sizes = sizes.as_primitive::<UInt64Type>().iter().flatten();
    let within = starts
        .zip(sizes)
        .filter(|(start, _)| (from..until).contains(start));
    within.map(|(_, size)| size).sum()
}

#[test]
fn the_load_is_of_the_flows_that_started_in_its_time() {
    for (top, entry, asked, from, until) in [
        (
            "duration = \"2ms\"",
            "load = 0.4\nsize = \"10KB\"",
            0.4,
            0.0,
            2e6,
        ),
        (
            "duration = \"2ms\"\nwarmup = \"1ms\"",
            "load = 0.4\nsize = \"10KB\"",
            0.4,
            1e6,
            2e6,
        ),
        (
            "duration = \"2ms\"\nload_scale = 0.5",
            "load = 0.4\nsize = \"10KB\"",
            0.2,
            0.0,
            2e6,
        ),
        (
            "duration = \"4ms\"",
            "load = 0.4\nsize = \"10KB\"\nstart = \"500us\"\nstop = \"2.5ms\"",
            0.4,
            5e5,
            2.5e6,
        ),
    ] {
        let tables = run(&text(top, entry)).tables;
        let found = ["asked_load", "from_ns", "until_ns"].map(|it| value(&tables, it));
        assert_eq!(found, [asked, from, until], "{top} {entry}");
        let bits = started(&tables, from, until) as f64 * 8.0;
        let expected = bits / (until - from) / (4.0 * 10.0);
        let offered = value(&tables, "offered_load");
        assert!((offered - expected).abs() < 1e-9, "{offered} {expected}");
        assert!((offered / asked - 1.0).abs() < 0.25, "{offered} of {asked}");
    }
}

/// Of frames of 1,000 B with 48 B of headers and 20 B of preamble and gap.
#[test]
fn the_load_of_frames_and_of_some_links_is_a_share_of_those() {
    let plain = "load = 0.4\nsize = \"10KB\"\nfrom = [\"H0\", \"H1\"]\nto = [\"H2\", \"H3\"]";
    let of = |more: &str| run(&text("duration = \"20ms\"", &format!("{plain}\n{more}"))).tables;
    for more in ["", "load_basis = \"wire\"", "load_of = \"receivers\""] {
        let offered = value(&of(more), "offered_load");
        assert!((offered / 0.4 - 1.0).abs() < 0.1, "{more}: {offered}");
    }
}

#[test]
fn an_entry_with_a_number_of_flows_has_its_load_until_the_last() {
    let entry = "load = 0.4\nsize = \"10KB\"\nflows = 500";
    let tables = run(&text("duration = \"30ms\"", entry)).tables;
    let offered = value(&tables, "offered_load");
    assert!((offered / 0.4 - 1.0).abs() < 0.15, "{offered}");
    assert!(value(&tables, "until_ns") < 5e6);
}

#[test]
fn a_load_that_differs_is_noted_before_and_after_the_run() {
    let heavy = "load = 0.7\ncdf = \"websearch\"";
    let source = text("duration = \"30ms\"", heavy);
    let outcome = run(&source);
    let offered = value(&outcome.tables, "offered_load");
    assert!((offered / 0.7 - 1.0).abs() > 0.05, "{offered}");
    let said = messages(&outcome);
    let expected = format!("traffic `web` brings another load than it asks for: {offered:.3}");
    let expected = expected.trim_end_matches('0');
    let note = said.iter().find(|it| it.contains(expected));
    let note = note.unwrap_or_else(|| panic!("{expected}: {said:?}"));
    let foreseen = Scenario::parse(&source, Path::new("w.toml"))
        .unwrap()
        .warnings();
    let message = note.strip_prefix("other-load: test.toml:12: ").unwrap();
    assert!(
        foreseen.iter().any(|it| it.message.ends_with(message)),
        "{foreseen:?}"
    );
    // Many small flows come close.
    let close = run(&text("duration = \"20ms\"", "load = 0.7\nsize = \"2KB\""));
    assert!(
        !messages(&close)
            .iter()
            .any(|it| it.starts_with("other-load"))
    );
}
