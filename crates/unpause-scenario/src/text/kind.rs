//! Kinds of values: how documents name them, and how JSON Schema describes them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use unpause_text::name_list::{Expanded, NameList};
use unpause_text::quantity::{self, DataRate, Duration, Ratio, Size};

use serde::de::{DeserializeSeed, EnumAccess, Error, IgnoredAny, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use serde_spanned::Spanned;
use unpause_protocols::names::Names;
use unpause_protocols::units::{Rate, Time};

/// A key that is written but was not read.
pub(crate) struct Unread {
    /// The key or table without effect: `` `buffer` ``, `[switch.cioq]`.
    pub what: String,
    pub place: Range<usize>,
    /// Why it has none, and what to do.
    pub why: (&'static str, &'static str),
}

/// How the value of a key is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in documents: `time`, `rate`, …, or the values that there are; in Markdown.
    pub text: String,
    /// The names that the value may be; none if it is of another kind.
    pub choices: Vec<&'static str>,
    /// The same as JSON Schema.
    pub schema: Value,
}

impl Kind {
    /// A kind of this name.
    pub(crate) fn new(text: impl Into<String>, schema: Value) -> Self {
        Self {
            text: text.into(),
            choices: Vec::new(),
            schema,
        }
    }

    /// A time, a rate or a size.
    fn quantity(text: &str) -> Self {
        let pattern = quantity::pattern(text);
        Self::new(text, json!({"type": "string", "pattern": pattern}))
    }

    /// A table.
    pub(crate) fn table(text: &str) -> Self {
        Self::new(text, json!({"type": "object"}))
    }

    /// A value of this kind, or this name.
    pub(crate) fn or(self, name: &'static str) -> Self {
        Self {
            text: format!("{}, or `\"{name}\"`", self.text),
            choices: vec![name],
            schema: json!({"anyOf": [self.schema, {"enum": [name]}]}),
        }
    }

    /// Several values of this kind.
    fn list(self) -> Self {
        let schema = json!({"type": "array", "items": self.schema});
        Self::new(self.text.replace(" or ", "s or ") + "s", schema)
    }

    /// A table of values of this kind.
    fn map(self) -> Self {
        Self::table(&format!("table of {}s", self.text))
    }

    /// A value of this kind, or one for each rate of links.
    pub(super) fn by_rate(self) -> Self {
        let (text, one) = (self.text, self.schema);
        let each = json!({"type": "object", "additionalProperties": one});
        let text = format!("{text}, or {text}s by link rate");
        Self::new(text, json!({"anyOf": [one, each]}))
    }
}

/// A type of values of keys.
pub(crate) trait HasKind {
    /// Its kind.
    fn kind() -> Kind;

    /// The keys in it that nobody has read.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }
}

/// A type for Rust programs that the file writes in a type of its own.
pub(crate) trait Plain: Sized {
    /// The type in the file.
    type Written: HasKind;
}

/// Implements [`HasKind`], and [`Plain`] for what the file writes as it is.
macro_rules! kinds {
    ($($T:ty $(as $Plain:ty)?: $kind:expr;)+) => {
        $(impl HasKind for $T {
            fn kind() -> Kind {
                $kind
            }
        }
        $(impl Plain for $Plain {
            type Written = $T;
        })?)+
    };
}

pub(super) use kinds;

/// A number.
pub(super) fn number() -> Kind {
    Kind::new("number", json!({"type": "number"}))
}

kinds! {
    Duration as Time: Kind::quantity("time");
    DataRate as Rate: Kind::quantity("rate");
    Size: Kind::quantity("size");
    Ratio: Kind::new("ratio", json!({"type": ["number", "string"]}));
    NameList: Kind::new("names", json!({"anyOf": [{"type": "string"}, String::kind().list().schema]}));
    Expanded as Vec<String>: NameList::kind();
    bool: Kind::new("`true`, `false`", json!({"type": "boolean"}));
    u8: number();
    u16: number();
    u32 as u32: number();
    u64: number();
    f64: number();
    String: Kind::new("text", json!({"type": "string"}));
    IgnoredAny: Kind::table("table");
}

impl<T: HasKind> HasKind for Spanned<T> {
    fn kind() -> Kind {
        T::kind()
    }
}

impl<T: HasKind> HasKind for Vec<T> {
    fn kind() -> Kind {
        T::kind().list()
    }
}

impl<T: HasKind> HasKind for BTreeMap<String, T> {
    fn kind() -> Kind {
        T::kind().map()
    }
}

impl<T: Plain> Plain for Option<T> {
    type Written = T::Written;
}

/// One of the values of an enum, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneOf<T>(pub T);

/// The first of them.
impl<T: Names> Default for OneOf<T> {
    fn default() -> Self {
        Self(T::NAMES[0].1)
    }
}

impl<T: Names> fmt::Display for OneOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name())
    }
}

impl<T: Names> HasKind for OneOf<T> {
    fn kind() -> Kind {
        let choices: Vec<&'static str> = T::NAMES.iter().map(|(name, _)| *name).collect();
        let quoted: Vec<String> = choices.iter().map(|name| format!("`\"{name}\"`")).collect();
        Kind {
            text: quoted.join(", "),
            schema: json!({"type": "string", "enum": choices}),
            choices,
        }
    }
}

impl<'de, T: Names> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("", &[], NameVisitor(PhantomData))
    }
}

/// Reads a name as a value of `T`.
struct NameVisitor<T>(PhantomData<T>);

impl<'de, T: Names> Visitor<'de> for NameVisitor<T> {
    type Value = OneOf<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        T::by_name(name).map(OneOf).ok_or_else(|| {
            let known: Vec<String> = T::NAMES
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            E::custom(format!(
                "unknown variant `{name}`, expected one of {}",
                known.join(", ")
            ))
        })
    }
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Self::Value, A::Error> {
        let (value, rest) = data.variant_seed(self)?;
        rest.unit_variant()?;
        Ok(value)
    }
}

impl<'de, T: Names> DeserializeSeed<'de> for NameVisitor<T> {
    type Value = OneOf<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<OneOf<T>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}
