//! Tables for the terminal.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use textwrap::{Options, WordSeparator, WordSplitter::NoHyphenation};
use unpause_scenario::{Summary, Timing, count};

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

/// A row for each run, of what tells whether it went well. The Python package has more to say, and an answer; this is
/// for machines without it.
pub fn table(parts: &[Part<'_>]) -> String {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line));
    table.set_header([
        "run",
        "flows\ndone",
        "FCT\np99",
        "slowdown\np99",
        "time\npaused",
        "longest\nqueue",
    ]);
    for (name, runs) in parts {
        for run in *runs {
            table.add_row([
                label(*name, run),
                done(run),
                run.fct_p99_ns.map_or("-".into(), time),
                run.slowdown_p99
                    .map_or("-".into(), |slowdown| format!("{slowdown:.1}")),
                time(run.paused_ns),
                size(run.max_queue_bytes),
            ]);
        }
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

fn done(run: &Summary) -> String {
    let completed = count(run.flows_completed);
    if run.flows_completed == run.flows_sized {
        completed
    } else {
        format!("{completed} of {}", count(run.flows_sized))
    }
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
            fct_p99_ns: Some(123.5e6),
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
        for cell in ["1,200 of 1,234", "124 ms", "1.50 s", "7.65 MB"] {
            assert!(row.contains(cell), "{drawn}");
        }
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
