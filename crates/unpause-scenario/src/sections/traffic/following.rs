//! Entries of `[[traffic]]` whose flows start when others have ended.

use std::ops::Range;
use unpause_text::count::counted;
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::name_list::NameList;

use serde_spanned::Spanned;
use unpause_sim::config::Config;
use unpause_sim::followers::{Followers, Unfollowable, Why};
use unpause_sim::traffic::{Ending, Following, Matching};

use super::common::Common;
use unpause_import::fabric::names::Names;

/// The entries that an entry follows, as written.
pub(crate) struct After {
    entries: Spanned<NameList>,
    ending: Ending,
    matching: Matching,
}

/// The entries that the entry with these keys follows.
pub(super) fn after(common: &Common) -> Checked<Option<After>> {
    let Some(entries) = common.after.get() else {
        let end = common.after_end.peek().map(|it| ("after_end", it.span()));
        let matching = common
            .after_match
            .peek()
            .map(|it| ("after_match", it.span()));
        return match end.or(matching) {
            None => Ok(None),
            Some((key, span)) => Problem::new(format!("`{key}` has no effect"))
                .at(span, "this entry follows no other")
                .help("remove it, or add after = \"NAME\" with the name of another entry")
                .err(),
        };
    };
    let (ending, matching) = (common.after_end.value().0, common.after_match.value().0);
    if matching == Matching::Each && entries.get_ref().0.len() != 1 {
        let count = entries.get_ref().0.len();
        return Problem::new(format!("each flow follows one, of {count} entries"))
            .at(
                entries.span(),
                "after_match = \"each\" needs a single entry here",
            )
            .help("name one entry, or set after_match = \"all\"")
            .err();
    }
    Ok(Some(After {
        entries: entries.clone(),
        ending,
        matching,
    }))
}

/// Which entries follow which, where `after` says so of those at these places. `jobs` are the names of jobs, which nothing follows.
pub(crate) fn following(
    after: &[(u16, After)],
    names: &[Spanned<String>],
    jobs: &[&str],
) -> Checked<Vec<Following>> {
    let known: Vec<&str> = names.iter().map(|name| name.get_ref().as_str()).collect();
    let mut found = Vec::new();
    for (entry, after) in after {
        let mut entries = Vec::new();
        for name in &after.entries.get_ref().0 {
            if jobs.contains(&name.as_str()) {
                return Problem::new(format!("traffic cannot wait for the job `{name}`"))
                    .at(after.entries.span(), "the name of a [[job]]")
                    .help("name entries of [[traffic]], or give the entry a `start`")
                    .err();
            }
            let Some(at) = known.iter().position(|known| known == name) else {
                return Problem::new(format!("there is no traffic `{name}`"))
                    .at(
                        after.entries.span(),
                        "no entry of [[traffic]] has this name",
                    )
                    .help_if(nearest(name, &known))
                    .err();
            };
            let at = at as u16;
            if !entries.contains(&at) {
                entries.push(at);
            }
        }
        found.push(Following {
            entry: *entry,
            after: entries,
            ending: after.ending,
            matching: after.matching,
        });
    }
    Ok(found)
}

/// Refuses flows that wait for what never happens. `places` are those of `after`, by entry.
pub(crate) fn check(config: &Config, places: &[(u16, Range<usize>)], names: &Names) -> Checked<()> {
    let Err(wrong) = Followers::of(config) else {
        return Ok(());
    };
    let place = places.iter().find(|(entry, _)| *entry == wrong.entry);
    let place = place.map_or(0..0, |(_, place)| place.clone());
    let [message, label, help] = explanation(&wrong, config, names);
    Problem::new(message).at(place, label).help(help).err()
}

/// Message, label and help for an entry that waits for itself, by its own name or through others.
fn circular(name: &str, names_itself: bool) -> [String; 3] {
    let [label, help] = if names_itself {
        [
            "this is the entry itself",
            "name another entry, or remove `after`",
        ]
    } else {
        [
            "each of these entries waits for the other",
            "let one of them start at a fixed time: remove its `after`",
        ]
    };
    let message = format!("traffic `{name}` waits for itself");
    [message, label.into(), help.into()]
}

/// Message, label at `after`, and help.
fn explanation(wrong: &Unfollowable, config: &Config, names: &Names) -> [String; 3] {
    let of_entry = |entry: u16| names.traffic[usize::from(entry)].as_str();
    let following = config.following.iter().find(|it| it.entry == wrong.entry);
    let before: Vec<&str> = following.map_or_else(Vec::new, |it| {
        it.after.iter().map(|entry| of_entry(*entry)).collect()
    });
    let before = before.join("`, `");
    let name = of_entry(wrong.entry);
    let acknowledged = following.is_some_and(|it| it.ending == Ending::Acknowledged);
    let ends = if acknowledged { "sent" } else { "received" };
    match &wrong.why {
        Why::Traffic(why) => [
            why.clone(),
            "here".into(),
            "correct that entry first".into(),
        ],
        Why::NotThere | Why::Circle => {
            let names_itself = following.is_some_and(|it| it.after.contains(&wrong.entry));
            circular(name, names_itself)
        }
        Why::NeverEnds { after } => [
            format!("flows of `{}` have no size and never end", of_entry(*after)),
            format!("so `{name}` would never start"),
            "give them a `size`".into(),
        ],
        Why::NothingEnds { host } => {
            let host = names.name(*host);
            let (verb, other, ending) = if acknowledged {
                ("send", "receives", "delivered")
            } else {
                ("receive", "sends", "acknowledged")
            };
            [
                format!("{host} sends in `{name}`, but {ends} no flow of `{before}` to wait for"),
                format!("a flow waits for flows that its sender {ends}"),
                format!(
                    "let {host} {verb} in `{before}`, or, if it {other} there, set after_end = \"{ending}\""
                ),
            ]
        }
        Why::NotAsMany {
            flows,
            before: others,
        } => [
            format!(
                "`{name}` has {}, `{before}` has {}: numbers of flows must be equal",
                counted(*flows, "flow"),
                counted(*others, "flow")
            ),
            "after_match = \"each\" pairs them one by one".into(),
            "give both entries the same number of flows, or set after_match = \"all\"".into(),
        ],
        Why::Elsewhere {
            number,
            starts,
            ends: at,
        } => {
            let (starts, at, number) = (names.name(*starts), names.name(*at), number + 1);
            [
                format!(
                    "flow {number} of `{name}` starts at {starts}, but {at} {ends} flow {number} of `{before}`"
                ),
                format!("{starts} does not know when that flow has ended"),
                "a flow follows one that ends at its own sender".into(),
            ]
        }
    }
}

impl After {
    /// Where it is written.
    pub fn place(&self) -> Range<usize> {
        self.entries.span()
    }
}
