//! Tables for the terminal.

use std::io::IsTerminal;
use std::iter;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use textwrap::{Options, WordSeparator, WordSplitter::NoHyphenation};
use unpause_scenario::{Estimate, Summary, Timing, count, tail};

/// The name of a result, and its runs.
pub type Part<'a> = (Option<&'a str>, &'a [Summary]);

/// Columns that standard output has: those of the variable `COLUMNS`, else of the terminal; none if it is none.
pub fn columns() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|it| it.parse().ok());
    if set.is_some_and(|columns| columns > 0) || !std::io::stdout().is_terminal() {
        return set.filter(|columns| *columns > 0);
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Sentences so that no line has more than `width` columns; continuation lines are indented.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let one = |line: &str| {
        let own = line.len() - line.trim_start().len();
        filled(line, own + 2, width)
    };
    text.lines().map(one).collect()
}

/// `name`, which begins where it should, and what is said of it beside it, from column `column` on; below it
/// where the name is longer.
pub fn beside(name: &str, column: usize, said: &str, width: Option<usize>) -> String {
    let name = name.trim_end();
    let long = name.chars().count();
    if width.is_some() && long >= column {
        return wrapped(name, width) + &filled(&(" ".repeat(column) + said), column, width);
    }
    // Neither the name nor the gap is a place to break.
    let gap = "\u{a0}".repeat(column.saturating_sub(long).max(1));
    let name = name.replace(' ', "\u{a0}");
    let line = filled(&format!("{name}{gap}{said}"), column, width);
    line.replace('\u{a0}', " ")
}

/// A line so that it has at most `width` columns; continuation lines are indented by `indent`.
fn filled(line: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else {
        return format!("{line}\n");
    };
    let indent = " ".repeat(indent);
    // A rate such as 40 Gb/s is no place to break.
    let options = Options::new(width.max(20))
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(NoHyphenation)
        .break_words(false);
    textwrap::fill(line, options) + "\n"
}

/// Jobs that have a column.
const MOST_JOBS: usize = 3;

/// A row for each run, of what tells whether it went well. The Python package has more to say, and an answer; this is
/// for machines without it.
pub fn table(parts: &[Part<'_>]) -> String {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line));
    let rows: Vec<(Option<&str>, &Summary)> = parts
        .iter()
        .flat_map(|(name, runs)| runs.iter().map(|run| (*name, run)))
        .collect();
    let runs: Vec<&Summary> = rows.iter().map(|(_, run)| *run).collect();
    let columns = [of_flows(&runs), of_jobs(&runs), of_fabric(&runs)].concat();
    table.set_header(
        iter::once("run".to_owned()).chain(columns.iter().map(|column| column.head.clone())),
    );
    for (row, (name, run)) in rows.iter().enumerate() {
        let cells = columns.iter().map(|column| column.cells[row].clone());
        table.add_row(iter::once(label(*name, run)).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let drawn = table.to_string();
    drawn
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// A column of [`table`].
#[derive(Clone)]
struct Column {
    head: String,
    cells: Vec<String>,
}

impl Column {
    fn new(head: &str, runs: &[&Summary], cell: impl Fn(&Summary) -> String) -> Self {
        Self {
            head: head.to_owned(),
            cells: runs.iter().map(|run| cell(run)).collect(),
        }
    }
}

/// Flows that have a size; nothing where no run has any. All rows have the percentile that the fewest flows allow.
fn of_flows(runs: &[&Summary]) -> Vec<Column> {
    let flows = runs.iter().map(|run| run.flows_sized);
    let Some(fewest) = flows.filter(|flows| *flows > 0).min() else {
        return Vec::new();
    };
    let tail = tail(fewest);
    vec![
        Column::new("flows\ndone", runs, |run| {
            done(run.flows_completed, run.flows_sized)
        }),
        Column::new(&format!("FCT\n{tail}"), runs, |run| {
            estimated(run.fct.get(tail), time)
        }),
        Column::new(&format!("slowdown\n{tail}"), runs, |run| {
            estimated(run.slowdown.get(tail), |slowdown| format!("{slowdown:.1}"))
        }),
    ]
}

/// Iterations of jobs, and the mean time of those of the first jobs; nothing where no run has a job.
fn of_jobs(runs: &[&Summary]) -> Vec<Column> {
    let mut names: Vec<&str> = Vec::new();
    for job in runs.iter().flat_map(|run| &run.jobs) {
        if !names.contains(&&*job.name) {
            names.push(&job.name);
        }
    }
    let mut columns = Vec::new();
    if !names.is_empty() {
        columns.push(Column::new("iterations\ndone", runs, |run| {
            done(run.iterations_completed, run.iterations_planned)
        }));
    }
    for name in names.into_iter().take(MOST_JOBS) {
        let head = format!("{name}\niteration");
        columns.push(Column::new(&head, runs, |run| {
            let job = run.jobs.iter().find(|job| job.name == name);
            estimated(job.and_then(|job| job.mean_ns), time)
        }));
    }
    columns
}

fn of_fabric(runs: &[&Summary]) -> Vec<Column> {
    vec![
        Column::new("time\npaused", runs, |run| time(run.paused_ns)),
        Column::new("longest\nqueue", runs, |run| size(run.max_queue_bytes)),
    ]
}

/// The scheme of a run, with swept values and seed.
fn label(name: Option<&str>, run: &Summary) -> String {
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let values: String = run
        .values
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!("{name}{}{values} seed={}", run.scheme, run.seed)
}

/// How many are done, and of how many where that is not all.
fn done(completed: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        _ if completed == all => count(completed),
        _ => format!("{} of {}", count(completed), count(all)),
    }
}

/// A statistic, with a sign before it if it is a lower bound.
fn estimated(estimate: Option<Estimate>, write: impl Fn(f64) -> String) -> String {
    let Some(Estimate { at_least, is_exact }) = estimate else {
        return "-".to_owned();
    };
    let sign = if is_exact { "" } else { "≥ " };
    format!("{sign}{}", write(at_least))
}

/// How fast each run was simulated, a line each.
pub fn speeds(runs: &[Summary], timings: &[Timing]) -> String {
    let speed = |run: &Summary| {
        let timing = timings.iter().find(|timing| timing.run == run.run)?;
        let hops = timing.packet_hops as f64 / timing.wall_s.max(1e-9);
        Some(format!(
            "speed: {}: {:.1} million packet-hops/s\n",
            label(None, run),
            hops / 1e6
        ))
    };
    runs.iter().filter_map(speed).collect()
}

/// Nanoseconds with three digits and a unit.
pub fn time(ns: f64) -> String {
    match ns {
        0.0 => "0".into(),
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{} us", digits(ns / 1e3)),
        ..1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

/// Bytes, too.
pub fn size(bytes: u64) -> String {
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

#[cfg(test)]
mod tests {
    use unpause_scenario::{JobSummary, Sample, Statistics};

    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(time(12_800.0), "12.8 us");
        assert_eq!(time(3_071_000.0), "3.07 ms");
        assert_eq!(size(512_000), "512 KB");
        assert_eq!(size(9_999_000), "10.0 MB");
    }

    #[test]
    fn sentences_are_broken_at_words() {
        let said =
            "warning: PFC: 8 of 8 flows were not complete\n   hint: a longer duration helps\n";
        assert_eq!(wrapped(said, None), said);
        let expected = "warning: PFC: 8 of 8\n  flows were not\n  complete\n   hint: a longer\n     duration helps\n";
        assert_eq!(wrapped(said, Some(20)), expected);
    }

    #[test]
    fn what_is_said_of_a_name_stays_beside_it() {
        let said = "yields where a longer queue waits";
        let expected = "  a key   yields where\n          a longer\n          queue waits\n";
        assert_eq!(beside("  a key", 10, said, Some(23)), expected);
        assert_eq!(beside("  key", 8, said, None), format!("  key   {said}\n"));
        let expected = "  a long key\n          yields\n";
        assert_eq!(beside("  a long key", 10, "yields", Some(23)), expected);
    }

    #[test]
    fn a_run_is_a_row_and_a_line_of_its_speed() {
        let run = Summary {
            run: 3,
            scheme: "PFC, adaptive".into(),
            seed: 7,
            values: vec![("xoff".into(), 64.0.into())],
            flows_sized: 1_234,
            flows_completed: 1_200,
            fct: Statistics::of(&Sample {
                known: vec![123.5e6; 1_200],
                bounds: vec![150e6; 34],
            }),
            iterations_completed: 3,
            iterations_planned: 20,
            jobs: vec![JobSummary {
                name: "J".into(),
                mean_ns: Some(Estimate {
                    at_least: 4.2e6,
                    is_exact: false,
                }),
                ..JobSummary::default()
            }],
            paused_ns: 1.5e9,
            max_queue_bytes: 7_650_000,
            ..Summary::default()
        };
        let drawn = table(&[(Some("a"), std::slice::from_ref(&run))]);
        let row = drawn.lines().last().unwrap();
        assert!(
            row.trim_start()
                .starts_with("a: PFC, adaptive xoff=64 seed=7  "),
            "{drawn}"
        );
        let cells = row.split("   ").map(str::trim);
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        let expected = [
            "1,200 of 1,234",
            "≥ 150 ms",
            "-",
            "3 of 20",
            "≥ 4.20 ms",
            "1.50 s",
            "7.65 MB",
        ];
        assert_eq!(cells[1..], expected, "{drawn}");
        assert!(drawn.contains(" p99 "), "{drawn}");
        let timing = Timing {
            run: 3,
            packet_hops: 5_000_000,
            wall_s: 2.0,
            threads: 1,
            cpu_s: None,
        };
        let expected = "speed: PFC, adaptive xoff=64 seed=7: 2.5 million packet-hops/s\n";
        assert_eq!(speeds(&[run], &[timing]), expected);
    }
}
