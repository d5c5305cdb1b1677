//! The kinds of values.

use serde_spanned::Spanned;

/// A type of values.
pub(crate) trait Kind {
    /// Its name in documents.
    const KIND: &'static str;
}

/// The kind of a key whose value is a table.
pub(crate) const TABLE: &str = "table";

macro_rules! kinds {
    ($($T:ty = $text:expr),+ $(,)?) => {
        $(impl $crate::text::kind::Kind for $T {
            const KIND: &'static str = $text;
        })+
    };
}

kinds! {
    unpause_text::quantity::Duration = "time",
    unpause_text::quantity::DataRate = "rate",
    unpause_text::quantity::Size = "size",
    unpause_text::quantity::Ratio = "ratio",
    unpause_text::name_list::NameList = "names",
    unpause_text::name_list::Expanded = "names",
    bool = "`true`, `false`",
    u8 = "number",
    u16 = "number",
    u32 = "number",
    u64 = "number",
    f64 = "number",
    String = "text",
    Vec<u32> = "numbers",
    Vec<Spanned<u8>> = "numbers",
    Vec<String> = "texts",
    Vec<Spanned<String>> = "texts",
    Vec<Spanned<unpause_text::quantity::Size>> = "sizes",
}

/// An enum of the values of a key, by their names.
macro_rules! names {
    ($(#[$meta:meta])* $vis:vis $Name:ident {
        $(#[$of_first:meta])* $First:ident = $first:literal
        $(, $(#[$of_variant:meta])* $Variant:ident = $text:literal)* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        $vis enum $Name {
            $(#[$of_first])* #[serde(rename = $first)] $First,
            $($(#[$of_variant])* #[serde(rename = $text)] $Variant,)*
        }

        impl $crate::text::kind::Kind for $Name {
            const KIND: &'static str = concat!("`\"", $first, "\"`" $(, ", `\"", $text, "\"`")*);
        }
    };
}

pub(crate) use {kinds, names};
