//! Keys of a table, the fields of a struct with `#[derive(Keys)]`: name, kind, default, meaning, source of the default. A key
//! that is written but that nobody reads has no effect, and is refused.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range, RangeInclusive};
use unpause_text::error::{Checked, Problem};

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, Visitor};
use serde_spanned::Spanned;
pub(crate) use unpause_derive::Keys;

use super::document::{Table, read};
pub(crate) use super::kind::Unread;
use super::kind::{HasKind, Kind};
use super::setting::Setting;

/// One key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// How its value is written.
    pub kind: Kind,
    /// Its value if it is not written.
    pub default: KeyDefault,
    /// Its meaning, in Markdown.
    pub description: &'static str,
    /// The source of the default; empty if there is none.
    pub origin: &'static str,
}

impl Key {
    /// True if it must be written.
    pub fn is_required(&self) -> bool {
        // For a key that is read elsewhere, its default says so in words.
        matches!(
            self.default,
            KeyDefault::Required | KeyDefault::Words("required")
        )
    }
}

/// Markdown as plain text: no marks of code, and of links what they are called.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let (start, name) = before.rsplit_once('[').unwrap_or((before, ""));
        plain += start;
        plain += name;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    (plain + rest).replace('`', "")
}

/// The value of a key that is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyDefault {
    /// Nothing: it must be.
    Required,
    /// A value, as the file would have it.
    Value(String),
    /// A description in Markdown.
    Words(&'static str),
}

impl From<&'static str> for KeyDefault {
    fn from(words: &'static str) -> Self {
        Self::Words(words)
    }
}

impl From<String> for KeyDefault {
    fn from(value: String) -> Self {
        Self::Value(value)
    }
}

impl fmt::Display for KeyDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Required => "required",
            Self::Value(value) => value,
            Self::Words(words) => words,
        })
    }
}

/// The value of a key, if it is written; and whether anybody has asked for it.
pub(crate) struct Written<T> {
    value: Option<Spanned<T>>,
    is_read: Cell<bool>,
}

impl<T> Written<T> {
    /// The value and its place. The key then counts as read.
    pub fn get(&self) -> Option<&Spanned<T>> {
        self.is_read.set(true);
        self.value.as_ref()
    }

    /// The value.
    pub fn value(&self) -> Option<&T> {
        self.get().map(Spanned::get_ref)
    }

    /// The value, without counting the key as read.
    pub fn peek(&self) -> Option<&Spanned<T>> {
        self.value.as_ref()
    }

    /// The value, or the default; for tables of keys.
    pub fn take(&mut self) -> T
    where
        T: Default,
    {
        self.is_read.set(true);
        let value = self.value.take();
        value.map(Spanned::into_inner).unwrap_or_default()
    }

    /// Its place, if it has not been read.
    pub fn unread(&self) -> Option<Range<usize>> {
        let value = self.value.as_ref().filter(|_| !self.is_read.get());
        value.map(Spanned::span)
    }
}

impl<T> From<Option<Spanned<T>>> for Written<T> {
    fn from(value: Option<Spanned<T>>) -> Self {
        Self {
            value,
            is_read: Cell::new(false),
        }
    }
}

impl<T> Default for Written<T> {
    fn default() -> Self {
        None.into()
    }
}

/// A key that sets a parameter, which has the default.
pub(crate) type Param<T> = Written<T>;

/// The value of a key that has one in any case.
pub(crate) struct WithDefault<T> {
    written: Written<T>,
    default: T,
}

impl<T> WithDefault<T> {
    pub fn new(written: Option<Spanned<T>>, default: T) -> Self {
        Self {
            written: written.into(),
            default,
        }
    }

    /// The value that is written, or the default.
    pub fn value(&self) -> &T {
        self.written.value().unwrap_or(&self.default)
    }
}

impl<T: Copy + fmt::Display + PartialOrd> WithDefault<T> {
    /// The value; a mistake if there are more or fewer of `what` than these.
    pub fn within(&self, possible: RangeInclusive<T>, what: &str) -> Checked<T> {
        let value = *self.value();
        match self.get().filter(|_| !possible.contains(&value)) {
            None => Ok(value),
            Some(written) => Problem::new(format!("{value} {what}"))
                .at(
                    written.span(),
                    format!("from {} to {}", possible.start(), possible.end()),
                )
                .err(),
        }
    }
}

impl<T> Deref for WithDefault<T> {
    type Target = Written<T>;

    fn deref(&self) -> &Written<T> {
        &self.written
    }
}

/// The keys of a table as they are written. `#[derive(Keys)]` implements it.
pub(crate) trait Keys: DeserializeOwned {
    /// Where the table is in the file: `switch.cioq`; empty for the file itself.
    const PATH: &'static str;
    /// The parameters that some of the keys set.
    type Params: Default;
    /// The keys while they are read.
    type Reader: Reader<Keys = Self>;
    /// All keys, with `params` as defaults.
    fn keys(params: &Self::Params) -> Vec<Key>;
    /// Sets the parameters of the keys that are written.
    fn apply(&self, params: &mut Self::Params) -> Checked<()>;
    /// The keys that may be left out.
    fn entries(&self) -> Vec<Entry>;

    /// Keys that are written but were not read.
    fn unread(&self) -> Vec<Unread> {
        self.entries()
            .into_iter()
            .flat_map(|entry| entry.unread)
            .collect()
    }

    /// Names and places of the keys that are written although they may be left out.
    fn written(&self) -> Vec<(&'static str, Range<usize>)> {
        let entries = self.entries().into_iter();
        entries
            .filter_map(|entry| Some((entry.name, entry.place?)))
            .collect()
    }

    /// The names of all keys.
    fn names() -> Vec<&'static str> {
        let keys = Self::keys(&Self::Params::default());
        keys.into_iter().map(|key| key.name).collect()
    }
}

/// The keys of a table while they are read.
pub(crate) trait Reader: Default {
    /// The keys.
    type Keys: Keys<Reader = Self>;
    /// True if one of them has this name.
    fn knows(name: &str) -> bool;
    /// Reads the value of the key of this name; false if there is no such key.
    fn read<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<bool, M::Error>;
    /// Those that have been read.
    fn finish<E: Error>(self) -> Result<Self::Keys, E>;
}

/// Reads a table.
pub(crate) fn deserialize<'de, K: Keys, D: Deserializer<'de>>(from: D) -> Result<K, D::Error> {
    from.deserialize_map(TableVisitor::<K>(PhantomData))
}

/// A table without a key that is written; none must be.
pub(crate) fn of_nothing<K: Keys>() -> K {
    let keys = K::Reader::default().finish::<serde::de::value::Error>();
    keys.unwrap_or_else(|error| unreachable!("{error}"))
}

/// The value of a key that must be written.
pub(crate) fn required<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

struct TableVisitor<K>(PhantomData<K>);

impl<'de, K: Keys> Visitor<'de> for TableVisitor<K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<K, M::Error> {
        let mut reader = K::Reader::default();
        while let Some(name) = map.next_key_seed(NameSeed::<K>(PhantomData))? {
            reader.read(&name, &mut map)?;
        }
        reader.finish()
    }
}

/// Reads the name of a key, and refuses a wrong one: so the error is at its place.
struct NameSeed<K>(PhantomData<K>);

impl<'de, K: Keys> DeserializeSeed<'de> for NameSeed<K> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<K: Keys> Visitor<'_> for NameSeed<K> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a key")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<String, E> {
        if K::Reader::knows(name) {
            return Ok(name.to_owned());
        }
        let known: Vec<String> = K::names()
            .iter()
            .map(|known| format!("`{known}`"))
            .collect();
        Err(E::custom(format!(
            "unknown field `{name}`, expected one of {}",
            known.join(", ")
        )))
    }
}

/// A table's keys; none are written if there is no table.
pub(crate) fn keys_of<K: Keys + Default>(table: Option<Table<'_>>) -> Checked<K> {
    table.map_or(Ok(K::default()), |table| read(table, &[]))
}

/// Refuses the first of `unread`.
pub(crate) fn refuse(unread: Vec<Unread>) -> Checked<()> {
    let Some(first) = unread.into_iter().min_by_key(|it| it.place.start) else {
        return Ok(());
    };
    Problem::new(format!("{} has no effect", first.what))
        .at(first.place, first.why.0)
        .help(first.why.1)
        .err()
}

/// A key that may be left out.
pub(crate) struct Entry {
    name: &'static str,
    /// Its place, if it is written.
    place: Option<Range<usize>>,
    /// The messages, if it is written and nobody has read it or a key of a table in it.
    unread: Vec<Unread>,
}

/// The key `name` of the table at `path`. `why` it has no effect if nobody reads it, and what to do.
pub(crate) fn entry<T: HasKind>(
    (path, name): (&str, &'static str),
    written: &Written<T>,
    why: Option<(&'static str, &'static str)>,
) -> Entry {
    let inner = written.peek().map(|value| value.get_ref().unread());
    let mut unread = inner.unwrap_or_default();
    if let Some(place) = written.unread() {
        let (why, help) = why.unwrap_or(("nothing uses it", "remove it"));
        let (what, why) = match T::kind().text.as_str() {
            "table" => (format!("[{path}.{name}]"), "these settings"),
            _ => (format!("`{name}`"), why),
        };
        unread.push(Unread {
            what,
            place,
            why: (why, help),
        });
    }
    Entry {
        name,
        place: written.peek().map(Spanned::span),
        unread,
    }
}

/// Sets what a key says, if it is written.
pub(crate) fn set<T, S: Setting<T>>(key: &str, written: &Written<S>, slot: &mut T) -> Checked<()> {
    let Some(value) = written.get() else {
        return Ok(());
    };
    value.get_ref().store(slot).or_else(|why| {
        Problem::new(format!("`{key}` is invalid: {why}"))
            .at(value.span(), "here")
            .err()
    })
}

/// `low` must not exceed `high`; either may be a default.
pub(crate) fn ordered<T: PartialOrd, S: Setting<T>>(
    (low_key, low_value): (&str, &Written<S>),
    low: &T,
    (high_key, high_value): (&str, &Written<S>),
    high: &T,
) -> Checked<()> {
    if low <= high {
        return Ok(());
    }
    let mut problem = Problem::new(format!("`{low_key}` is above `{high_key}`"));
    for (key, value, shown) in [
        (low_key, low_value, S::show(low)),
        (high_key, high_value, S::show(high)),
    ] {
        if let Some(value) = value.peek() {
            problem = problem.at(value.span(), format!("`{key}` is {shown}"));
        } else {
            problem = problem.help(format!("`{key}` is {shown} by default"));
        }
    }
    problem.err()
}
