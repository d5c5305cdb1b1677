//! Keys that some runs of a file have no use for. One that no run uses is refused.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::DeValue;

use crate::text::document::Table;
use crate::text::keys::{Unread, refuse};
use unpause_text::error::{Checked, Problem};

/// Keys that a run did not read; refused at once if it is the only run.
pub(crate) fn of_several(unread: Vec<Unread>, several: bool) -> Checked<Vec<Unread>> {
    if several {
        return Ok(unread);
    }
    refuse(unread)?;
    Ok(Vec::new())
}

/// Keys that runs did not read.
#[derive(Default)]
pub(crate) struct Idle {
    keys: Vec<Key>,
}

/// A key that at least one run did not read.
struct Key {
    what: String,
    place: Range<usize>,
    /// The runs that have it and did not read it.
    runs: Vec<usize>,
    /// By scheme why it has no effect, and what to do.
    whys: Vec<(String, (&'static str, &'static str))>,
}

impl Idle {
    /// Adds what a run of a scheme did not read.
    pub fn add(&mut self, unread: Vec<Unread>, run: usize, scheme: &str) {
        for it in unread {
            let same = |key: &Key| key.place == it.place && key.what == it.what;
            let at = self.keys.iter().position(same).unwrap_or_else(|| {
                self.keys.push(Key {
                    what: it.what,
                    place: it.place,
                    runs: Vec::new(),
                    whys: Vec::new(),
                });
                self.keys.len() - 1
            });
            let key = &mut self.keys[at];
            key.runs.push(run);
            if !key.whys.iter().any(|(other, _)| other == scheme) {
                key.whys.push((scheme.to_owned(), it.why));
            }
        }
    }

    /// Refuses the first key that no run reads. `root` is the file as one of the runs has it: what a scheme or
    /// a sweep replaces is not in it.
    pub fn check<'i>(
        mut self,
        schemes: &[String],
        runs: usize,
        root: impl Fn(usize) -> Checked<Table<'i>>,
    ) -> Checked<()> {
        self.keys.sort_by_key(|key| key.place.start);
        for key in self.keys {
            let mut others = (0..runs).filter(|run| !key.runs.contains(run));
            let mut is_read = false;
            while let Some(run) = others.next().filter(|_| !is_read) {
                let root = root(run)?;
                is_read = root.get_ref().values().any(|it| has(it, &key.place));
            }
            if !is_read {
                return key.refuse(schemes);
            }
        }
        Ok(())
    }
}

impl Key {
    fn refuse(self, schemes: &[String]) -> Checked<()> {
        let (_, (first, help)) = self.whys[0];
        let all_alike = self.whys.iter().all(|(_, (why, _))| *why == first);
        let label = if all_alike {
            first.to_owned()
        } else {
            let each = self.whys.iter();
            let each = each.map(|(scheme, (why, _))| format!("{why} under scheme `{scheme}`"));
            each.collect::<Vec<_>>().join("; ")
        };
        let under = if schemes.len() == 1 {
            String::new()
        } else if self.whys.len() == schemes.len() {
            format!(" under any of the {} schemes", schemes.len())
        } else {
            let names = self.whys.iter().map(|(scheme, _)| format!("`{scheme}`"));
            format!(" under {}", names.collect::<Vec<_>>().join(", "))
        };
        Problem::new(format!("{} has no effect{under}", self.what))
            .at(self.place, label)
            .help(help)
            .err()
    }
}

/// True if a value, or one in it, stands at this place.
fn has(value: &Spanned<DeValue<'_>>, place: &Range<usize>) -> bool {
    value.span() == *place
        || match value.get_ref() {
            DeValue::Table(table) => table.values().any(|it| has(it, place)),
            DeValue::Array(values) => values.iter().any(|it| has(it, place)),
            _ => false,
        }
}
