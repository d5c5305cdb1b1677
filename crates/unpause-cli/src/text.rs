//! Tables and warnings for the terminal.

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use unpause_scenario::{Summary, Timing, Warning};

/// Name of a result, its runs, and how long they took.
pub type Part<'a> = (Option<&'a str>, &'a [Summary], &'a [Timing]);

/// One row for each run.
pub fn summary_table(parts: &[Part<'_>]) -> String {
    let named = parts.iter().any(|(name, ..)| name.is_some());
    let mut swept: Vec<&str> = Vec::new();
    for (name, _) in parts
        .iter()
        .flat_map(|(_, runs, _)| *runs)
        .flat_map(|run| &run.values)
    {
        if !swept.contains(&name.as_str()) {
            swept.push(name);
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for line in [
        TableComponent::HeaderLines,
        TableComponent::MiddleHeaderIntersections,
    ] {
        table.set_style(line, '─');
    }
    let mut head: Vec<String> = Vec::new();
    if named {
        head.push("result".into());
    }
    head.push("scheme".into());
    head.extend(swept.iter().map(|name| (*name).to_owned()));
    let measures = [
        "flows\ndone",
        "FCT\nmean",
        "FCT\np50",
        "FCT\np99",
        "slowdown\np99",
        "PAUSE\nframes",
        "PAUSE\nevents",
        "time\npaused",
        "marked\npackets",
        "CNPs,\nCNMs",
        "dropped\npackets",
        "longest\nqueue",
        "M packet-\nhops/s",
    ];
    head.extend(measures.map(str::to_owned));
    table.set_header(head);
    let first_number = 1 + usize::from(named);
    for (name, runs, timings) in parts {
        for run in *runs {
            let mut row: Vec<String> = Vec::new();
            if named {
                row.push(name.unwrap_or_default().to_owned());
            }
            row.push(run.scheme.clone());
            for column in &swept {
                let value = run.values.iter().find(|(name, _)| name == column);
                row.push(value.map_or(String::new(), |(_, value)| value.to_string()));
            }
            row.extend(measures_of(run, timings));
            table.add_row(row);
        }
    }
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn measures_of(run: &Summary, timings: &[Timing]) -> [String; 13] {
    let time = |ns: Option<f64>| ns.map_or("-".into(), time);
    let timing = timings.iter().find(|timing| timing.run == run.run);
    let speed = timing.map(|t| t.packet_hops as f64 / t.wall_s.max(1e-9) / 1e6);
    [
        match run.flows_completed == run.flows_sized {
            true => count(run.flows_completed),
            false => format!(
                "{} of {}",
                count(run.flows_completed),
                count(run.flows_sized)
            ),
        },
        time(run.fct_mean_ns),
        time(run.fct_p50_ns),
        time(run.fct_p99_ns),
        run.slowdown_p99
            .map_or("-".into(), |slowdown| format!("{slowdown:.1}")),
        count(run.pause_frames),
        count(run.pause_events),
        time(Some(run.paused_ns)),
        count(run.marked_packets),
        count(run.notifications),
        count(run.dropped_packets),
        size(run.max_queue_bytes),
        speed.map_or("-".into(), |speed| format!("{speed:.1}")),
    ]
}

/// Warnings, each with what to do. Equal ones of several runs are said once.
pub fn warnings(warnings: &[Warning]) -> String {
    let mut text = String::new();
    let mut said: Vec<(&str, &str)> = Vec::new();
    for warning in warnings {
        let kind = (warning.scheme.as_str(), warning.kind.as_str());
        if said.iter().filter(|other| **other == kind).count() == MOST_OF_A_KIND {
            let more = warnings
                .iter()
                .filter(|w| (w.scheme.as_str(), w.kind.as_str()) == kind);
            let more = more.count() - MOST_OF_A_KIND;
            text += &format!(
                "warning: {}: {more} more of kind {}: see manifest.json\n",
                kind.0, kind.1
            );
        }
        said.push(kind);
        if said.iter().filter(|other| **other == kind).count() > MOST_OF_A_KIND {
            continue;
        }
        text += &format!("warning: {}: {}\n", warning.scheme, warning.message);
        if let Some(help) = &warning.help {
            text += &format!("   hint: {help}\n");
        }
    }
    text
}

/// More warnings of one kind and scheme than this are only counted.
const MOST_OF_A_KIND: usize = 3;

/// Three digits and a unit.
fn time(ns: f64) -> String {
    match ns {
        0.0 => "0".into(),
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{} us", digits(ns / 1e3)),
        ..1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", digits(bytes as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", digits(bytes as f64 / 1e6)),
        _ => format!("{} GB", digits(bytes as f64 / 1e9)),
    }
}

fn digits(number: f64) -> String {
    match number {
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// `1234567` is `1,234,567`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(time(12_800.0), "12.8 us");
        assert_eq!(time(3_071_000.0), "3.07 ms");
        assert_eq!(size(512_000), "512 KB");
        assert_eq!(size(9_999_000), "10.0 MB");
    }

    #[test]
    fn many_warnings_of_a_kind_are_counted() {
        let warning = |run: u32| Warning {
            run,
            scheme: "PFC".into(),
            kind: "empty-probe".into(),
            message: format!("nothing in run {run}"),
            help: None,
        };
        let text = warnings(&(0..5).map(warning).collect::<Vec<_>>());
        assert_eq!(text.lines().count(), 4);
        assert!(text.ends_with("warning: PFC: 2 more of kind empty-probe: see manifest.json\n"));
    }
}
