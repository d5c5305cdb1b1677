//! Keys of a table, each declared once: name, kind, default, what it is, where the default is from. What is
//! written and read by nobody has no effect, and is refused.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;

use super::document::{Table, read};
pub(crate) use super::kind::{TABLE, kinds, names};
use super::setting::Setting;
use unpause_text::error::{Checked, Problem};

/// One key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// How its value is written: `time`, `rate`, …, or the values that there are; in Markdown.
    pub kind: &'static str,
    /// Its value when it is not written.
    pub default: KeyDefault,
    /// What it is; in Markdown.
    pub description: &'static str,
    /// Where the default is from; empty if that is not said.
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

    /// The names that its value may be; none if it is of another kind.
    pub fn choices(&self) -> Vec<&'static str> {
        self.kind.split('"').skip(1).step_by(2).collect()
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
    /// What words say, in Markdown.
    Words(&'static str),
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

impl<T> Default for Written<T> {
    fn default() -> Self {
        Self {
            value: None,
            is_read: Cell::new(false),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Spanned::deserialize(deserializer)?;
        Ok(Self {
            value: Some(value),
            ..Self::default()
        })
    }
}

/// A key that is written but was not read.
pub(crate) struct Unread {
    /// What has no effect: `` `buffer` ``, `[switch.cioq]`.
    pub what: String,
    pub place: Range<usize>,
    /// Why it has none, and what to do.
    pub why: (&'static str, &'static str),
}

/// The keys of a table as they are written, which set some of `P`; [`keys!`] makes them.
pub(crate) trait Keys<P>: DeserializeOwned {
    /// What they are called.
    const NAMES: &'static [&'static str];
    /// All of them, with `params` as defaults.
    fn keys(params: &P) -> Vec<Key>;
    /// Sets what they say by themselves.
    fn apply(&self, params: &mut P) -> Checked<()>;
    /// Keys that are written but were not read.
    fn unread(&self) -> Vec<Unread>;
}

/// A table's keys; none are written if there is no table.
pub(crate) fn keys_of<P, K: Keys<P> + Default>(table: Option<Table<'_>>) -> Checked<K> {
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

/// The message about a key that was not read.
pub(crate) fn unread_key(
    (path, name, kind): (&str, &str, &str),
    place: Range<usize>,
    why: Option<(&'static str, &'static str)>,
) -> Unread {
    let (why, help) = why.unwrap_or(("nothing uses it", "remove it"));
    let (what, why, help) = match kind {
        TABLE => (format!("[{path}.{name}]"), "these settings", help),
        _ => (format!("`{name}`"), why, help),
    };
    Unread {
        what,
        place,
        why: (why, help),
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

/// Declares the keys of a table, `at` a path, `for` parameters that some of them set:
///
/// `key: Kind = [default] "what it is" from "where the default is from"
/// idle ("why it has no effect where it is not read", "what to do") => where it is stored;`
///
/// The default is words or a value; if it is left out, it is that of the parameters. Keys behind a `!` must be
/// written.
macro_rules! keys {
    ($(#[$meta:meta])* $vis:vis $Name:ident at $path:literal for $Params:ty {
        $(! $must:ident: $MustKind:ident $must_text:literal;)*
        $($key:ident: $Kind:ident $(= [$($default:tt)+])? $text:literal $(from $origin:literal)?
            $(idle $why:tt)? $(=> $($slot:ident).+ $(, $($more:ident).+)*)?;)*
    }) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $vis struct $Name {
            $($vis $must: serde_spanned::Spanned<$MustKind>,)*
            $(#[serde(default)] $vis $key: $crate::text::keys::Written<$Kind>,)*
        }

        #[allow(unused_variables, unused_mut, reason = "a table may have no keys")]
        impl $crate::text::keys::Keys<$Params> for $Name {
            const NAMES: &'static [&'static str] =
                &[$(stringify!($must),)* $(stringify!($key),)*];

            fn keys(params: &$Params) -> Vec<$crate::text::keys::Key> {
                vec![
                    $($crate::text::keys::Key {
                        name: stringify!($must),
                        kind: <$MustKind as $crate::text::kind::Kind>::KIND,
                        default: $crate::text::keys::KeyDefault::Required,
                        description: $must_text,
                        origin: "",
                    },)*
                    $($crate::text::keys::Key {
                        name: stringify!($key),
                        kind: <$Kind as $crate::text::kind::Kind>::KIND,
                        default: $crate::text::keys::default_value!(
                            $Kind $([$($default)+])? $(=> params.$($slot).+)?
                        ),
                        description: $text,
                        origin: concat!($($origin)?),
                    },)*
                ]
            }

            fn apply(&self, params: &mut $Params) -> unpause_text::error::Checked<()> {
                $($(
                    $crate::text::keys::set(stringify!($key), &self.$key, &mut params.$($slot).+)?;
                    $($crate::text::keys::set(stringify!($key), &self.$key, &mut params.$($more).+)?;)*
                )?)*
                Ok(())
            }

            fn unread(&self) -> Vec<$crate::text::keys::Unread> {
                let mut found = Vec::new();
                $(if let Some(place) = self.$key.unread() {
                    let kind = <$Kind as $crate::text::kind::Kind>::KIND;
                    let why = $crate::text::keys::why!($($why)?);
                    let key = ($path, stringify!($key), kind);
                    found.push($crate::text::keys::unread_key(key, place, why));
                })*
                found
            }
        }
    };
}

/// Words, a value as the file would have it, or that of the parameters.
macro_rules! default_value {
    ($Kind:ident [$words:literal] $(=> $($slot:tt)+)?) => {
        $crate::text::keys::KeyDefault::Words($words)
    };
    ($Kind:ident [$value:expr] $(=> $($slot:tt)+)?) => {
        $crate::text::keys::KeyDefault::Value($crate::text::setting::show::<_, $Kind>(&$value))
    };
    ($Kind:ident => $params:ident.$($slot:ident).+) => {
        $crate::text::keys::KeyDefault::Value(
            $crate::text::setting::show::<_, $Kind>(&$params.$($slot).+)
        )
    };
}

macro_rules! why {
    () => {
        None
    };
    ($why:expr) => {
        Some($why)
    };
}

pub(crate) use {default_value, keys, why};
