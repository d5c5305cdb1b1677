//! `warmup`: flows and iterations that begin earlier change no bit of the simulation and are in no statistic.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_protocols::units::Time;
use unpause_results::censored::{Sample, Statistics};
use unpause_results::outcome::summary::Summary;
use unpause_results::tables::Tables;
use unpause_scenario::{NoProgress, Options, Scenario, execute};

use crate::small::{messages, run};

/// A large burst at the start, then small flows.
const LOADED: &str = r#"
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"
[pfc]
xoff = "50KB"
xon = "40KB"
[[scheme]]
name = "PFC"
[[traffic]]
name = "first"
kind = "burst"
from = ["H1", "H2", "H3"]
to = "H0"
size = "300KB"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.2
size = "10KB"
"#;

fn with(key: &str) -> String {
    format!("{key}\n{LOADED}")
}

fn floats(table: &RecordBatch, column: &str) -> Vec<Option<f64>> {
    let column = table.column_by_name(column).expect("it is a column");
    column.as_primitive::<Float64Type>().iter().collect()
}

fn counts(table: &RecordBatch, column: &str) -> u64 {
    let column = table.column_by_name(column).expect("it is a column");
    column.as_primitive::<UInt64Type>().value(0)
}

#[test]
fn a_warmup_changes_no_table_but_runs() {
    let (plain, warmed) = (run(LOADED).tables, run(&with("warmup = \"1ms\"")).tables);
    let others = plain
        .all()
        .filter(|(name, _)| !["runs", "loads"].contains(name));
    for (name, table) in others {
        assert_eq!(Some(table), warmed.get(name), "{name}");
    }
    let columns = |tables: &Tables| {
        let fields = tables.runs.schema().fields().clone();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        names
    };
    let alike = |name: &str| plain.runs.column_by_name(name) == warmed.runs.column_by_name(name);
    let others: Vec<String> = columns(&plain)
        .into_iter()
        .filter(|it| !alike(it))
        .collect();
    assert_eq!(
        others,
        ["counted_from_ns", "flows_started", "flows_completed"]
    );
}

#[test]
fn statistics_are_of_the_flows_that_started_after_it() {
    let tables = run(&with("warmup = \"1ms\"")).tables;
    let (starts, fcts) = (
        floats(&tables.flows, "start_ns"),
        floats(&tables.flows, "fct_ns"),
    );
    let late = |at: &usize| starts[*at].unwrap() >= 1e6;
    let rows: Vec<usize> = (0..starts.len()).filter(late).collect();
    assert!(rows.len() > 10 && rows.len() < starts.len());
    let end = floats(&tables.runs, "simulated_ns")[0].unwrap();
    let known: Vec<f64> = rows.iter().filter_map(|at| fcts[*at]).collect();
    let cut = rows.iter().filter(|at| fcts[**at].is_none());
    let bounds = cut.map(|at| end - starts[*at].unwrap()).collect();
    let completed = known.len() as u64;
    let summary = &Summary::of(&tables)[0];
    assert_eq!(summary.fct, Statistics::of(&Sample { known, bounds }));
    assert_eq!(summary.flows_started, rows.len() as u64);
    assert_eq!(summary.flows_sized, rows.len() as u64);
    assert_eq!(summary.flows_completed, completed);
    assert_eq!(counts(&tables.runs, "flows_completed"), completed);
    let all = &Summary::of(&run(LOADED).tables)[0];
    let p99 = |of: &Summary| of.fct.get("p99").map(|p99| p99.at_least);
    assert!(p99(all) > p99(summary), "the burst was slow");
    assert!(all.flows_started > summary.flows_started);
    assert!(all.pause_events > 0);
    assert_eq!(
        all.pause_events, summary.pause_events,
        "counters are of the whole run"
    );
}

#[test]
fn a_note_says_what_is_in_no_statistic() {
    let outcome = run(&with("warmup = \"1ms\""));
    let starts = floats(&outcome.tables.flows, "start_ns");
    let early = starts.iter().flatten().filter(|it| **it < 1e6).count();
    let said = messages(&outcome);
    let expected = format!(
        "warm-up: what began in the warm-up of 1ms is in no statistic: {early} of {} flows",
        starts.len()
    );
    assert!(said.contains(&expected), "{expected}: {said:?}");
    let note = outcome.warnings.iter().find(|it| it.kind == "warm-up");
    assert!(note.is_some_and(|it| it.note));
    assert!(
        !messages(&run(LOADED))
            .iter()
            .any(|it| it.starts_with("warm-up"))
    );
    // The burst alone has started before.
    let alone =
        with("warmup = \"1ms\"").replace("load = 0.2", "mean_interval = \"1us\"\nflows = 1");
    let said = messages(&run(&alone));
    assert!(
        said.iter().any(|it| it.starts_with("all-warm-up: ")),
        "{said:?}"
    );
}

#[test]
fn unfinished_flows_are_counted_among_those_that_started_after_it() {
    let text = with("warmup = \"1ms\"").replace("load = 0.2", "load = 0.9\nstart = \"1.5ms\"");
    let text = text.replace("size = \"300KB\"", "size = \"9MB\"");
    let outcome = run(&text);
    let said = messages(&outcome);
    let unfinished: Vec<_> = said
        .iter()
        .filter(|it| it.starts_with("unfinished"))
        .collect();
    assert_eq!(unfinished.len(), 1, "not those of `first`: {said:?}");
    assert!(
        unfinished[0].contains("flows of traffic `web`"),
        "{unfinished:?}"
    );
}

/// Iterations of 82 us or more; the job asks for no warm-up of its own.
#[test]
fn iterations_that_began_in_it_do_not_count() {
    let job = "[[job]]\nname = \"J\"\nranks = 4\ncollective = \"all-reduce\"\nsize = \"100KB\"\niterations = 8\n";
    let fabric = LOADED.split("[[traffic]]").next().unwrap();
    let text = |key: &str| format!("{key}\n{fabric}\n{job}");
    let (plain, warmed) = (
        run(&text("")).tables,
        run(&text("warmup = \"300us\"")).tables,
    );
    let (starts, ends) = (
        floats(&plain.iterations, "start_ns"),
        floats(&plain.iterations, "end_ns"),
    );
    let early = starts.iter().flatten().filter(|it| **it < 3e5).count();
    assert!((2..7).contains(&early), "{early}");
    let takes = starts.iter().zip(&ends).skip(early);
    let takes: Vec<f64> = takes
        .map(|(start, end)| end.unwrap() - start.unwrap())
        .collect();
    let mean = floats(&warmed.jobs, "mean_ns")[0].unwrap();
    let expected = takes.iter().sum::<f64>() / takes.len() as f64;
    assert!((mean / expected - 1.0).abs() < 1e-9, "{mean} {expected}");
    let column = |tables: &Tables| {
        let column = tables.jobs.column_by_name("warmup").unwrap().clone();
        column
            .as_primitive::<arrow_array::types::UInt32Type>()
            .value(0)
    };
    assert_eq!((column(&plain), column(&warmed)), (0, early as u32));
    assert_eq!(plain.iterations, warmed.iterations);
}

#[test]
fn a_duration_within_it_is_refused() {
    let scenario = Scenario::parse(&with("warmup = \"1ms\""), Path::new("w.toml")).unwrap();
    let with_duration = |us| Options {
        duration: Some(Time::from_us(us)),
        ..Options::default()
    };
    let refused = execute(&scenario, &with_duration(1000), &NoProgress).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the duration of 1ms is not longer than `warmup`, 1ms"
    );
    assert!(execute(&scenario, &with_duration(1001), &NoProgress).is_ok());
}
