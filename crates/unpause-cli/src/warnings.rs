//! Warnings of runs.

use unpause_scenario::{Summary, Warning};

/// More of one kind and scheme than this are only counted.
const MOST_OF_A_KIND: usize = 3;
/// More points of a sweep than this are only counted.
const MOST_POINTS: usize = 4;

/// Warnings, and behind them notes, each with what to do. What several runs say is said once; `runs` tells
/// at which points of a sweep. With `all`, nothing is left out.
pub fn text(warnings: &[Warning], runs: &[Summary], all: bool) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for warning in warnings {
        let same = |group: &&mut Group| {
            let other = group.warning;
            let alike = if warning.note {
                other.kind == warning.kind && begin(other) == begin(warning)
            } else {
                (&other.message, &other.help) == (&warning.message, &warning.help)
            };
            other.scheme == warning.scheme && other.note == warning.note && alike
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.runs.push(warning.run);
                // Details of notes are each run's own.
                if group.message != warning.message {
                    group.message = begin(warning);
                }
            }
            None => groups.push(Group {
                warning,
                message: &warning.message,
                runs: vec![warning.run],
            }),
        }
    }
    groups.sort_by_key(|group| group.warning.note);
    let every = merged(&groups, runs, all);
    let mut text = String::new();
    let mut said: Vec<(&str, &str)> = Vec::new();
    for it in &every {
        let kind = (it.who.as_str(), it.kind);
        let before = said.iter().filter(|other| **other == kind).count();
        said.push(kind);
        let word = if it.note { "note" } else { "warning" };
        if before == MOST_OF_A_KIND && !all {
            let of_kind = every
                .iter()
                .filter(|other| (&*other.who, other.kind) == kind);
            let more = of_kind.count() - MOST_OF_A_KIND;
            text += &format!(
                "{word}: {}: {more} more of kind {}: -v shows them\n",
                kind.0, kind.1
            );
        }
        if before >= MOST_OF_A_KIND && !all {
            continue;
        }
        text += &format!("{word}: {}{}: {}\n", it.who, it.points, it.message);
        if let Some(help) = it.help {
            text += &format!("   hint: {help}\n");
        }
    }
    text
}

/// What several runs of a scheme say.
struct Group<'a> {
    warning: &'a Warning,
    /// What they have in common.
    message: &'a str,
    runs: Vec<u32>,
}

/// The content of one sentence.
struct Said<'a> {
    schemes: Vec<&'a str>,
    /// The schemes as text.
    who: String,
    /// At which of their points.
    points: String,
    kind: &'a str,
    note: bool,
    message: &'a str,
    help: Option<&'a str>,
}

/// Sentences that are the same of several schemes as one.
fn merged<'a>(groups: &[Group<'a>], runs: &[Summary], all: bool) -> Vec<Said<'a>> {
    let mut every: Vec<Said> = Vec::new();
    for group in groups {
        let (warning, message) = (group.warning, group.message);
        let points = points(&warning.scheme, &group.runs, runs, all);
        let help = warning.help.as_deref();
        let same = |other: &&mut Said| {
            let own = (warning.note, &*warning.kind, message, help, &*points);
            own == (
                other.note,
                other.kind,
                other.message,
                other.help,
                &*other.points,
            )
        };
        match every.iter_mut().find(same) {
            Some(before) => before.schemes.push(&warning.scheme),
            None => every.push(Said {
                schemes: vec![&warning.scheme],
                who: String::new(),
                points,
                kind: &warning.kind,
                note: warning.note,
                message,
                help,
            }),
        }
    }
    for it in &mut every {
        it.who = who(&it.schemes, runs);
    }
    every
}

/// The schemes by name, those of all runs together.
fn who(schemes: &[&str], runs: &[Summary]) -> String {
    let is_every = runs
        .iter()
        .all(|run| schemes.contains(&run.scheme.as_str()));
    if schemes.len() > 1 && is_every {
        return "all schemes".into();
    }
    // A name may have a comma itself.
    let between = if schemes.iter().any(|scheme| scheme.contains(',')) {
        "; "
    } else {
        ", "
    };
    schemes.join(between)
}

/// What happened, behind the place in the file if there is one: the measurement follows the colon.
fn begin(warning: &Warning) -> &str {
    let message = &*warning.message;
    let mut ends = message.match_indices(": ").map(|(at, _)| at);
    let is_place = |at: usize| {
        let line = message[..at].rsplit_once(':').map(|(_, line)| line);
        line.is_some_and(|line| line.parse::<u32>().is_ok())
    };
    let end = ends.find(|at| !is_place(*at));
    &message[..end.unwrap_or(message.len())]
}

/// ` at xoff=64, 128 (2 of 8 runs)`; nothing if a scheme's only run says it, or all do.
fn points(scheme: &str, at: &[u32], runs: &[Summary], all: bool) -> String {
    let of_scheme = runs.iter().filter(|run| run.scheme == scheme).count();
    if of_scheme <= 1 {
        return String::new();
    }
    if at.len() >= of_scheme {
        return format!(" in all {of_scheme} runs");
    }
    let most = if all { usize::MAX } else { MOST_POINTS };
    let seeds = runs.iter().any(|run| run.seed != runs[0].seed);
    let point = |run: &Summary| {
        let values = run
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let seed = seeds.then(|| format!("seed={}", run.seed));
        values.chain(seed).collect::<Vec<_>>().join(" ")
    };
    let said = runs.iter().filter(|run| at.contains(&run.run)).take(most);
    let said: Vec<_> = said.map(point).collect();
    let more = match at.len() - said.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(" at {}{more}", said.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(run: u32, kind: &str, message: &str) -> Warning {
        Warning {
            run,
            scheme: "PFC".into(),
            kind: kind.into(),
            message: message.into(),
            help: None,
            note: kind == "never-triggered",
            key: Vec::new(),
        }
    }

    fn runs(count: u32) -> Vec<Summary> {
        let run = |run| Summary {
            run,
            scheme: "PFC".into(),
            values: vec![("xoff".into(), f64::from(run).into())],
            ..Summary::default()
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn many_of_a_kind_are_counted() {
        let said: Vec<_> = (0..5)
            .map(|port| warning(0, "empty-probe", &format!("nothing at {port}")))
            .collect();
        let shown = text(&said, &runs(1), false);
        assert_eq!(shown.lines().count(), 4);
        assert!(shown.ends_with("warning: PFC: 2 more of kind empty-probe: -v shows them\n"));
        assert_eq!(text(&said, &runs(1), true).lines().count(), 5);
    }

    #[test]
    fn what_several_runs_say_is_said_once_and_notes_come_last() {
        let said: Vec<_> = (0..6)
            .flat_map(|run| {
                let note = warning(
                    run,
                    "never-triggered",
                    &format!("no PAUSE was sent: {run} KB"),
                );
                [Some(note), (run < 2).then(|| warning(run, "input", "odd"))]
            })
            .flatten()
            .collect();
        let shown = text(&said, &runs(6), false);
        let expected = "warning: PFC at xoff=0, xoff=1: odd\n\
                        note: PFC in all 6 runs: no PAUSE was sent\n";
        assert_eq!(shown, expected);
        let shown = text(&said[..7], &runs(6), false);
        assert!(
            shown.contains("note: PFC at xoff=0, xoff=1, xoff=2, xoff=3 and 1 more: no PAUSE"),
            "{shown}"
        );
    }

    #[test]
    fn what_stands_behind_a_place_is_kept() {
        let place = "a/b.toml:14: ";
        let same = format!("{place}the thresholds are those of 40 Gb/s: kmin 5 KB");
        let said: Vec<_> = (0..2)
            .map(|run| warning(run, "never-triggered", &same))
            .collect();
        let shown = text(&said, &runs(2), false);
        assert_eq!(shown, format!("note: PFC in all 2 runs: {same}\n"));
        let own = |run| format!("{place}the load is another: {run} of 0.7");
        let said: Vec<_> = (0..2)
            .map(|run| warning(run, "never-triggered", &own(run)))
            .collect();
        let shown = text(&said, &runs(2), false);
        let expected = "note: PFC in all 2 runs: a/b.toml:14: the load is another\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_all_schemes_say_is_said_once_with_their_names() {
        let mut runs = runs(3);
        let mut said = Vec::new();
        for (run, scheme) in runs.iter_mut().zip(["PFC", "PFC, adaptive", "NSCC"]) {
            run.scheme = scheme.into();
            let of = |kind: &str, message: &str| Warning {
                scheme: scheme.into(),
                ..warning(run.run, kind, message)
            };
            said.push(of("slow-link", "a link is slow"));
            if scheme != "NSCC" {
                said.push(of("never-triggered", "no PAUSE was sent"));
            }
        }
        assert_eq!(
            text(&said, &runs, false),
            "warning: all schemes: a link is slow\nnote: PFC; PFC, adaptive: no PAUSE was sent\n"
        );
    }

    #[test]
    fn runs_of_one_value_are_told_apart_by_their_seeds() {
        let mut runs = runs(4);
        for (index, run) in runs.iter_mut().enumerate() {
            run.values[0].1.value = (index / 2) as f64;
            run.seed = 1 + index as u64 % 2;
        }
        let shown = text(&[warning(1, "input", "odd")], &runs, false);
        assert_eq!(shown, "warning: PFC at xoff=0 seed=2: odd\n");
    }
}
