//! Tables of parameters, each declared once: its key, its kind, what it is, and where it is stored.

use serde::de::DeserializeOwned;
use serde_spanned::Spanned;

use super::document::{Table, read};
use super::error::{Checked, Problem};
use super::setting::Setting;

/// One key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// Its value when it is not written.
    pub default: String,
    /// What it is.
    pub description: &'static str,
}

/// The keys of a table as they are written; [`section!`] makes them.
pub(crate) trait Section<P>: DeserializeOwned + Default {
    /// Stores what is written.
    fn apply(&self, params: &mut P) -> Checked<()>;
    /// The keys, with `params` as defaults.
    fn keys(params: &P) -> Vec<Key>;
}

/// A table's keys; none are written if there is no table.
pub(crate) fn keys_of<P, S: Section<P>>(table: Option<Table<'_>>) -> Checked<S> {
    table.map_or(Ok(S::default()), |table| read(table, &[]))
}

/// Declares the keys of a table: `key: kind "description" => where it is stored;`, and of a key whose
/// default is not that of the parameters, `= "default"` after its kind.
macro_rules! section {
    ($Keys:ident for $Params:ty {
        $($key:ident: $Kind:ident $(= $default:literal)? $text:literal
            => $($slot:ident).+ $(, $($more:ident).+)*;)*
    }) => {
        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $Keys {
            $($key: Option<serde_spanned::Spanned<$Kind>>,)*
        }

        impl $crate::text::section::Section<$Params> for $Keys {
            #[allow(unused_variables, reason = "a table may have no keys")]
            fn apply(&self, params: &mut $Params) -> $crate::text::error::Checked<()> {
                $(if let Some(value) = &self.$key {
                    $crate::text::section::store(stringify!($key), value, &mut params.$($slot).+)?;
                    $($crate::text::section::store(stringify!($key), value, &mut params.$($more).+)?;)*
                })*
                Ok(())
            }

            #[allow(unused_variables, reason = "a table may have no keys")]
            fn keys(params: &$Params) -> Vec<$crate::text::section::Key> {
                vec![$($crate::text::section::Key {
                    name: stringify!($key),
                    default: $crate::text::section::default_text!(
                        $Kind params.$($slot).+ $(, $default)?
                    ),
                    description: $text,
                },)*]
            }
        }
    };
}

/// What is said of a default: what is written, or the value.
macro_rules! default_text {
    ($Kind:ident $params:ident.$($slot:ident).+, $default:literal) => {
        $default.to_owned()
    };
    ($Kind:ident $params:ident.$($slot:ident).+) => {
        $crate::text::setting::show::<_, $Kind>(&$params.$($slot).+)
    };
}

pub(crate) use {default_text, section};

pub(crate) fn store<T, S: Setting<T>>(key: &str, value: &Spanned<S>, slot: &mut T) -> Checked<()> {
    value.get_ref().store(slot).or_else(|why| {
        Problem::new(format!("`{key}` cannot be this: {why}"))
            .at(value.span(), "here")
            .err()
    })
}

/// `low` must not exceed `high`; either may be a default.
pub(crate) fn ordered<T: PartialOrd, S: Setting<T>>(
    (low_key, low_value): (&str, &Option<Spanned<S>>),
    low: &T,
    (high_key, high_value): (&str, &Option<Spanned<S>>),
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
        if let Some(value) = value {
            problem = problem.at(value.span(), format!("`{key}` is {shown}"));
        } else {
            problem = problem.help(format!("`{key}` is {shown} by default"));
        }
    }
    problem.err()
}
