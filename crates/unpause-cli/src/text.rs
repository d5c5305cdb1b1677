//! Tables for the terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use textwrap::{Options, WordSeparator, WordSplitter::NoHyphenation};
use unpause_scenario::{Summary, Timing, count};

/// Name of a result, its runs, and how long they took.
pub type Part<'a> = (Option<&'a str>, &'a [Summary], &'a [Timing]);

/// The statistics of a run, and where the name breaks.
const MEASURES: [&str; 15] = [
    "flows\ndone",
    "iteration\nmean",
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
    "trimmed\npackets",
    "packets\nsent again",
    "longest\nqueue",
];

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

/// The runs, so that no line has more than `width` columns: a row for each, without what is zero in all of
/// them; turned around, or cut into tables one below the other, if need be. With `all`, everything, and how
/// fast it ran.
pub fn summary_table(parts: &[Part<'_>], width: Option<usize>, all: bool) -> String {
    let mut grid = Grid::of(parts, all);
    if !all {
        grid.drop_empty();
    }
    let width = width.unwrap_or(usize::MAX);
    let as_rows = grid.draw();
    if widest(&as_rows) <= width {
        return as_rows;
    }
    // A column has a space on either side, and something in between.
    let turned = (grid.rows.len() * 3 < width).then(|| grid.turned().draw());
    turned
        .filter(|turned| widest(turned) <= width)
        .unwrap_or_else(|| grid.cut(width))
}

fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

/// Cells, the first `names` columns of which say what a row is about.
struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    names: usize,
}

impl Grid {
    fn of(parts: &[Part<'_>], all: bool) -> Self {
        let named = parts.iter().any(|(name, ..)| name.is_some());
        let runs = || parts.iter().flat_map(|(_, runs, _)| *runs);
        let mut swept: Vec<&str> = Vec::new();
        for (name, _) in runs().flat_map(|run| &run.values) {
            if !swept.contains(&name.as_str()) {
                swept.push(name);
            }
        }
        let mut points = BTreeMap::new();
        let seeds = runs().any(|run| *points.entry(point_of(run)).or_insert(run.seed) != run.seed);
        let mut head: Vec<String> = Vec::new();
        head.extend(named.then(|| "result".to_owned()));
        head.push("scheme".into());
        head.extend(swept.iter().map(|name| (*name).to_owned()));
        head.extend(seeds.then(|| "seed".to_owned()));
        let names = head.len();
        head.extend(MEASURES.map(str::to_owned));
        head.extend(all.then(|| "M packet-\nhops/s".to_owned()));
        let mut rows = Vec::new();
        for (name, runs, timings) in parts {
            for run in *runs {
                let mut row: Vec<String> = Vec::new();
                row.extend(named.then(|| name.unwrap_or_default().to_owned()));
                row.push(run.scheme.clone());
                for column in &swept {
                    let value = run.values.iter().find(|(name, _)| name == column);
                    row.push(value.map_or(String::new(), |(_, value)| value.to_string()));
                }
                row.extend(seeds.then(|| run.seed.to_string()));
                row.extend(measures_of(run));
                row.extend(all.then(|| speed_of(run, timings)));
                rows.push(row);
            }
        }
        Self { head, rows, names }
    }

    /// Takes out measures that no run has anything of.
    fn drop_empty(&mut self) {
        let empty = |column: usize| {
            let says_nothing = |row: &Vec<String>| ["0", "0 B", "-"].contains(&&*row[column]);
            column >= self.names && self.rows.iter().all(says_nothing)
        };
        let keep: Vec<usize> = (0..self.head.len()).filter(|it| !empty(*it)).collect();
        *self = self.of_columns(&keep);
    }

    fn of_columns(&self, columns: &[usize]) -> Self {
        let pick = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
        Self {
            head: pick(&self.head),
            rows: self.rows.iter().map(pick).collect(),
            names: self.names,
        }
    }

    /// A column for each run.
    fn turned(&self) -> Self {
        let cell = |row: &[String], column: usize| row[column].replace('\n', " ");
        let name = |row: &Vec<String>| row[..self.names].join("\n");
        let head = std::iter::once(self.head[..self.names].join("\n"));
        let row = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].clone());
            std::iter::once(cell(&self.head, column))
                .chain(cells)
                .collect()
        };
        Self {
            head: head.chain(self.rows.iter().map(name)).collect(),
            rows: (self.names..self.head.len()).map(row).collect(),
            names: 1,
        }
    }

    /// Tables of as many measures as fit, one below the other.
    fn cut(&self, width: usize) -> String {
        let names: Vec<usize> = (0..self.names).collect();
        let mut tables = Vec::new();
        let mut taken = names.clone();
        for column in self.names..self.head.len() {
            let wider = [&taken[..], &[column]].concat();
            let fits = widest(&self.of_columns(&wider).draw()) <= width;
            if !fits && taken.len() > names.len() {
                tables.push(self.of_columns(&taken).draw());
                taken.clone_from(&names);
            }
            taken.push(column);
        }
        tables.push(self.of_columns(&taken).draw());
        tables.join("\n")
    }

    fn draw(&self) -> String {
        let mut table = Table::new();
        let line = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().header_separator(line));
        table.set_header(&self.head);
        table.add_rows(&self.rows);
        let text = 1 + usize::from(self.head[0] == "result");
        for column in table.column_iter_mut().skip(text) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let drawn = table.to_string();
        drawn
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }
}

/// The scheme and the swept values of a run, without its seed.
fn point_of(run: &Summary) -> (&str, Vec<(&str, u64)>) {
    let values = run.values.iter();
    let values = values.map(|(name, value)| (name.as_str(), value.value.to_bits()));
    (&run.scheme, values.collect())
}

fn speed_of(run: &Summary, timings: &[Timing]) -> String {
    let timing = timings.iter().find(|timing| timing.run == run.run);
    let speed = timing.map(|t| t.packet_hops as f64 / t.wall_s.max(1e-9) / 1e6);
    speed.map_or("-".into(), |speed| format!("{speed:.1}"))
}

fn measures_of(run: &Summary) -> [String; 15] {
    let time = |ns: Option<f64>| ns.map_or("-".into(), time);
    [
        if run.flows_completed == run.flows_sized {
            count(run.flows_completed)
        } else {
            format!(
                "{} of {}",
                count(run.flows_completed),
                count(run.flows_sized)
            )
        },
        time(run.iteration_mean_ns),
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
        count(run.trimmed_packets),
        count(run.retransmitted_packets),
        size(run.max_queue_bytes),
    ]
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

    fn run(index: u32, value: f64) -> Summary {
        Summary {
            run: index,
            scheme: ["PFC", "PFC+DCQCN", "PFC+TIMELY"][index as usize % 3].into(),
            seed: 1,
            values: vec![("xoff_kb".into(), value.into())],
            flows_started: 1_234_567,
            flows_sized: 1_234_567,
            flows_completed: 1_234_000,
            fct_mean_ns: Some(2.5e6),
            fct_p50_ns: Some(1.5e6),
            fct_p99_ns: Some(123.5e6),
            slowdown_p99: Some(1234.5),
            pause_frames: 123_456,
            pause_events: 12_345,
            paused_ns: 1.5e9,
            max_queue_bytes: 7_650_000,
            ..Summary::default()
        }
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
    fn no_line_is_wider_than_the_terminal() {
        let few: Vec<_> = (0..3).map(|index| run(index, 512.0)).collect();
        let many: Vec<_> = (0..12).map(|index| run(index, f64::from(index))).collect();
        for runs in [&few, &many] {
            for width in [72, 80, 100, 136, 200] {
                let table = summary_table(&[(Some("results/mine"), runs, &[])], Some(width), true);
                assert!(widest(&table) <= width, "{width}:\n{table}");
                let last = table.matches("7.65 MB").count();
                assert_eq!(last, runs.len(), "{width}:\n{table}");
            }
        }
        let table = summary_table(&[(None, &few, &[])], Some(80), false);
        // Nothing was marked, and the program's own speed is not the fabric's.
        assert!(
            !table.contains("marked") && !table.contains("hops/s"),
            "{table}"
        );
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_lossy_run_shows_what_was_trimmed_and_sent_again() {
        let lossy = Summary {
            trimmed_packets: 2_086,
            retransmitted_packets: 2_090,
            ..run(0, 512.0)
        };
        let table = summary_table(&[(None, &[lossy], &[])], None, false);
        for shown in ["trimmed", "sent again", "2,086", "2,090"] {
            assert!(table.contains(shown), "{table}");
        }
    }
}
