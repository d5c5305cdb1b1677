//! All mistakes of a file, not only the first: a statement at fault is taken out, and the rest is read.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::compile;
use unpause_text::error::{Checked, Problem};

/// More mistakes than this are not looked for.
const MOST: usize = 20;
/// Nor any longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A substitute for a wrong value of a required key, as short as possible.
const STAND_INS: [&str; 6] = ["\"1ms\"", "\"1Gbps\"", "\"1KB\"", "2", "\"H0\"", "0.5"];

/// In front of the text, for a key of the file itself that has to be there and is not.
const FRONT: &str = "                                        \n";

/// All mistakes in `source`, of which `first` is known.
pub(crate) fn all(source: &str, directory: &Path, first: Problem) -> Vec<Problem> {
    let began = Instant::now();
    let source = FRONT.to_owned() + source;
    let mut search = Search {
        source: &source,
        directory,
        rest: source.clone(),
        taken: Vec::new(),
        made_up: Vec::new(),
    };
    let first = moved(first, |at| at + FRONT.len());
    let mut next = Remedy::of(&first);
    let mut found = vec![first];
    // The last error follows from a statement that was removed: everything that belongs to that one is removed, too.
    let mut follows = false;
    while let Some(remedy) = next
        && found.len() < MOST
        && began.elapsed() < PATIENCE
    {
        let Some(problem) = search.after(remedy) else {
            break;
        };
        // A name that is missing is one mistake, however often it is used.
        let is_name = problem.message.starts_with("there is no ");
        let again = |it: &Problem| {
            it.message == problem.message && (is_name || start(it) == start(&problem))
        };
        let is_news = search.is_news(&problem) && !found.iter().any(again);
        if follows && !is_news {
            break;
        }
        follows = !is_news;
        if is_news {
            next = Remedy::of(&problem);
            found.push(*problem);
        } else {
            next = search.taken.last().map(|last| Remedy::TakeRoom(last.start));
        }
    }
    let back = |problem| moved(problem, |at| at.saturating_sub(FRONT.len()));
    let misspelt: Vec<bool> = found
        .iter()
        .map(|problem| is_misspelt(problem, &found, &source))
        .collect();
    let all = found.into_iter().zip(misspelt);
    all.filter_map(|(problem, misspelt)| (!misspelt).then(|| back(problem)))
        .collect()
}

/// True if what `problem` misses is there, misspelt: another of `found` says so.
fn is_misspelt(problem: &Problem, found: &[Problem], source: &str) -> bool {
    let is_meant = |name: &str, other: &Problem| {
        other.help.as_deref() == Some(&format!("did you mean `{name}`?"))
    };
    let around = |problem: &Problem| start(problem).and_then(|at| room(source, at));
    let mut headers = problem.absent.map(headers).into_iter().flatten();
    headers.any(|name| found.iter().any(|other| is_meant(name, other)))
        || missing(problem).is_some_and(|key| {
            let is_same_room = |other: &&Problem| around(other) == around(problem);
            found
                .iter()
                .filter(is_same_room)
                .any(|other| is_meant(key, other))
        })
}

/// The headers of which a file lacks one, if it lacks this least text: jobs are traffic, too.
fn headers(least: &'static str) -> impl Iterator<Item = &'static str> {
    let header = least.lines().next().unwrap_or_default();
    let header = header.trim_matches(['[', ']']);
    [Some(header), (header == "traffic").then_some("job")]
        .into_iter()
        .flatten()
}

/// A change that lets the rest of a text be read.
enum Remedy {
    /// The statement at this byte goes.
    Take(usize),
    /// And the table around it with all that is in it.
    TakeRoom(usize),
    /// A table comes at the end.
    Add(&'static str),
    /// A key that the file itself lacks.
    Give(String),
}

impl Remedy {
    /// `None` for what is wrong in another file.
    fn of(problem: &Problem) -> Option<Self> {
        let at = start(problem)?;
        Some(match (problem.absent, missing(problem)) {
            (Some(least), _) => Self::Add(least),
            (None, Some(key)) if at <= FRONT.len() => Self::Give(key.to_owned()),
            _ => Self::Take(at),
        })
    }
}

/// A text after some remedies, and the remedies.
struct Search<'a> {
    source: &'a str,
    directory: &'a Path,
    rest: String,
    taken: Vec<Range<usize>>,
    made_up: Vec<Range<usize>>,
}

impl Search<'_> {
    /// The next mistake once this has been done.
    fn after(&mut self, remedy: Remedy) -> Option<Box<Problem>> {
        let place = match remedy {
            Remedy::Take(at) => statement(&self.rest, at)?,
            Remedy::TakeRoom(at) => room(self.source, at)?,
            Remedy::Add(least) => {
                let end = self.rest.len();
                self.rest += "\n";
                self.rest += least;
                self.made_up.push(end..self.rest.len());
                return compile::file(&self.rest, self.directory).err();
            }
            // Not from the first byte, where all that the file lacks is placed.
            Remedy::Give(key) => return self.give(&key, 1..FRONT.len())?.err(),
        };
        // What was added is no part of it.
        let place = place.start..place.end.min(self.source.len());
        blank(&mut self.rest, place.clone())?;
        self.taken.push(place);
        let problem = compile::file(&self.rest, self.directory).err()?;
        let Some(key) = missing(&problem) else {
            return Some(problem);
        };
        let was = |it: &&Range<usize>| self.source[(*it).clone()].trim_start().starts_with(key);
        let Some(place) = self.taken.iter().find(was).cloned() else {
            return Some(problem);
        };
        // A key of the file itself may also stand in front, if its statement was too short.
        let at_front = start(&problem).is_some_and(|at| at < FRONT.len());
        let front = || at_front.then_some(1..FRONT.len());
        let done = self.give(key, place);
        match done.or_else(|| self.give(key, front()?)) {
            Some(done) => done.err(),
            None => Some(problem),
        }
    }

    /// Writes a value for `key` at `place`; answers what is wrong then. `None` if nothing fits.
    fn give(&mut self, key: &str, place: Range<usize>) -> Option<Checked<()>> {
        let done = stand_in(&mut self.rest, key, &place, self.directory);
        self.made_up.push(place);
        done
    }

    /// True if the statement of `key` in the table around byte `at` was taken out.
    fn took(&self, key: &str, at: Option<usize>) -> bool {
        let around = at.and_then(|at| room(self.source, at));
        self.taken.iter().any(|it| {
            let statement = self.source[it.clone()].trim_start();
            statement.starts_with(key) && room(self.source, it.start) == around
        })
    }

    /// False for what may be wrong only because of what was taken out.
    fn is_news(&self, problem: &Problem) -> bool {
        if self.made_up.iter().any(|place| is_about(problem, place)) {
            return false;
        }
        if missing(problem).is_some_and(|key| self.took(key, start(problem))) {
            return false;
        }
        if is_wrong_alone(problem) {
            return true;
        }
        if let Some(least) = problem.absent {
            // Also where one kind of brackets was written for the other.
            let held = |it: &Range<usize>| {
                let mut written = self.source[it.clone()]
                    .lines()
                    .filter(|line| is_header(line));
                let name = |line: &str| {
                    let header = line.split('#').next().unwrap_or_default().trim();
                    header.trim_matches(['[', ']']).to_owned()
                };
                written.any(|line| headers(least).any(|header| name(line) == header))
            };
            return !self.taken.iter().any(held);
        }
        let hosts = |it: &Range<usize>| self.rest[it.clone()].contains("[topology]");
        if self.made_up.iter().any(hosts) {
            return false;
        }
        let names = |place: &Range<usize>| gives_names(self.source, place);
        let labels = problem.labels.iter();
        let mut rooms = labels.filter_map(|(span, _)| room(self.source, span.start));
        // A sweep is about other rooms.
        let in_room = |room: Range<usize>| {
            let taken = self.taken.iter().any(|it| room.contains(&it.start));
            taken || self.source[room].starts_with("[[sweep")
        };
        let depends = ["has no effect", "needs", "without", "the run ends before"];
        !self.taken.iter().any(names)
            && !rooms.any(in_room)
            && !depends.iter().any(|words| problem.message.contains(words))
    }
}

/// True for what is wrong with a key or a value, whatever the rest of the file says.
fn is_wrong_alone(problem: &Problem) -> bool {
    let message = &problem.message;
    let begins = ["unknown ", "found "];
    begins.iter().any(|words| message.starts_with(words)) || message.contains("` is not a ")
}

/// The key that a table lacks.
fn missing(problem: &Problem) -> Option<&str> {
    let rest = problem.message.strip_prefix("key `")?;
    rest.strip_suffix("` is missing")
}

/// Writes a value for `key` where its statement was, with which the search continues; answers what is wrong
/// then. `None` if nothing fits.
fn stand_in(
    text: &mut String,
    key: &str,
    place: &Range<usize>,
    directory: &Path,
) -> Option<Checked<()>> {
    let blank = text[place.clone()].to_owned();
    for value in STAND_INS {
        let statement = format!("{key}={value}");
        let end = place.start + statement.len();
        if end >= place.end || text[place.start..end].contains('\n') {
            continue;
        }
        text.replace_range(place.start..end, &statement);
        let done = compile::file(text, directory).map(drop);
        let fits = done
            .as_ref()
            .err()
            .is_none_or(|problem| !is_about(problem, place));
        if fits {
            return Some(done);
        }
        text.replace_range(place.clone(), &blank);
    }
    None
}

/// True if a mistake has to do with what stands at `place`.
fn is_about(problem: &Problem, place: &Range<usize>) -> bool {
    let mut labels = problem.labels.iter();
    problem.file.is_none() && labels.any(|(span, _)| place.contains(&span.start))
}

/// The same mistake in a text that has been moved.
fn moved(mut problem: Problem, to: impl Fn(usize) -> usize) -> Problem {
    if problem.file.is_none() {
        for (span, _) in &mut problem.labels {
            *span = to(span.start)..to(span.end);
        }
    }
    problem
}

/// Where a mistake in the scenario itself begins.
fn start(problem: &Problem) -> Option<usize> {
    let (span, _) = problem.labels.first()?;
    problem.file.is_none().then_some(span.start)
}

/// True for a statement that others may refer to: a name, a part of the topology, a whole room.
fn gives_names(source: &str, place: &Range<usize>) -> bool {
    let statement = source[place.clone()].trim_start();
    let room = room(source, place.start).unwrap_or(0..0);
    statement.starts_with("name") || is_header(statement) || source[room].starts_with("[topology")
}

/// The statement around byte `at`; a header stands for its room.
fn statement(text: &str, at: usize) -> Option<Range<usize>> {
    let mut first = None;
    for (start, line) in lines(text) {
        if !is_header(line) && !is_key(line) {
            continue;
        }
        if start > at {
            return first.map(|first| first..start);
        }
        if is_header(line) && start + line.len() > at {
            return room(text, at);
        }
        first = Some(start);
    }
    first.map(|first| first..text.len())
}

/// The table around byte `at` with all that is in it: an entry of `[[scheme]]`, all of the topology.
fn room(text: &str, at: usize) -> Option<Range<usize>> {
    let begins = |line: &str| {
        let path = line.trim_start().trim_start_matches('[');
        is_header(line) && !path.split(']').next().unwrap_or_default().contains('.')
    };
    let starts = lines(text).filter(|(_, line)| begins(line)).map(|it| it.0);
    let starts: Vec<usize> = starts.collect();
    let next = starts.partition_point(|start| *start <= at);
    let first = starts.get(next.checked_sub(1)?)?;
    Some(*first..starts.get(next).copied().unwrap_or(text.len()))
}

/// Lines, each with its first byte.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// Puts spaces in a place, so that everything else stays where it is; `None` if there is nothing.
fn blank(text: &mut String, place: Range<usize>) -> Option<()> {
    let spaces = |byte| if byte == b'\n' { '\n' } else { ' ' };
    let blank: String = text[place.clone()].bytes().map(spaces).collect();
    let was_empty = text[place.clone()].trim().is_empty();
    text.replace_range(place, &blank);
    (!was_empty).then_some(())
}

/// True for the header of a table, also where a bracket at its end is missing.
fn is_header(line: &str) -> bool {
    let line = line.lines().next().unwrap_or_default();
    let line = line.split('#').next().unwrap_or_default().trim();
    let Some(rest) = line.strip_prefix('[') else {
        return false;
    };
    let name = rest.trim_start_matches('[');
    let is_open = name.starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c));
    is_open || (line.ends_with(']') && !line.contains(',') && !line.contains('='))
}

fn is_key(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| {
        let key = key.trim();
        !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.\"' +#".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "a = 1\nb = [\n  1,\n  2,\n]\n[t]\nc = 3\n[t.more]\ne = 5\n[[u]]\nd = 4\n";

    fn without(find: impl Fn(&str, usize) -> Option<Range<usize>>, at: &str) -> String {
        let mut text = SOURCE.to_owned();
        let place = find(SOURCE, SOURCE.find(at).unwrap()).unwrap();
        assert!(blank(&mut text, place.clone()).is_some());
        assert!(blank(&mut text, place).is_none());
        assert_eq!(text.len(), SOURCE.len());
        text.split_whitespace().collect()
    }

    #[test]
    fn statements_are_taken_whole_and_nothing_moves() {
        assert_eq!(
            without(statement, "a ="),
            "b=[1,2,][t]c=3[t.more]e=5[[u]]d=4"
        );
        assert_eq!(without(statement, "2,"), "a=1[t]c=3[t.more]e=5[[u]]d=4");
        assert_eq!(
            without(statement, "c ="),
            "a=1b=[1,2,][t][t.more]e=5[[u]]d=4"
        );
        assert_eq!(without(statement, "[t]"), "a=1b=[1,2,][[u]]d=4");
        assert_eq!(
            without(statement, "d ="),
            "a=1b=[1,2,][t]c=3[t.more]e=5[[u]]"
        );
        assert_eq!(without(room, "e ="), "a=1b=[1,2,][[u]]d=4");
        assert_eq!(without(room, "d ="), "a=1b=[1,2,][t]c=3[t.more]e=5");
        assert_eq!(room(SOURCE, 0), None);
    }
}
