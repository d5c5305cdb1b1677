//! An entry of a table, and where it stands.

use std::collections::BTreeMap;

use super::finding::Spot;
use super::json::Member;
use super::values::short;

/// An entry of a table.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) table: &'static str,
    pub(super) key: &'a str,
    pub(super) at: usize,
    pub(super) fields: Vec<&'a Member>,
}

/// Members in the order of the file; of those with the same key, the last.
pub(super) fn last_ones(members: &[Member]) -> Vec<&Member> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        last.insert(&member.key, index);
    }
    let all = members.iter().enumerate();
    let all = all.filter(|(index, member)| last[member.key.as_str()] == *index);
    all.map(|(_, member)| member).collect()
}

/// A part of a JSON path.
pub(super) fn part(name: &str) -> String {
    let is_plain = |name: &str| {
        let mut chars = name.chars();
        let first = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if is_plain(name) {
        format!(".{name}")
    } else {
        format!("['{}']", short(name).replace('\'', "\\'"))
    }
}

impl Entry<'_> {
    /// Where it stands.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            at: self.at,
            path: format!("${}{}", part(self.table), part(self.key)),
        }
    }

    /// Where a field of it stands, or the entry, if the field is not there.
    pub(super) fn spot_of(&self, field: &str) -> Spot {
        match self.fields.iter().find(|it| it.key == field) {
            None => self.spot(),
            Some(it) => Spot {
                at: it.at,
                path: format!("{}{}", self.spot().path, part(field)),
            },
        }
    }

    /// Names of its fields, but for SONiC's mark of an entry without any.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.fields.iter().map(|it| it.key.clone());
        names.filter(|name| name != "NULL").collect()
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|it| it.key == field)
    }
}
