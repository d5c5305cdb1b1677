//! Keys of a table that are the fields of a struct for Rust programs, each declared once.

/// Declares a struct whose fields are the keys of a table:
///
/// `/// what it is`
/// `pub key: Type as Kind = default,`
///
/// `Kind` is how the file writes it, if that is not `Type`. The default is a value, or words in brackets for that of
/// `Type`; without a default the key must be written.
macro_rules! fields {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident {
        $($(#[doc = $text:literal])+ pub $key:ident: $Type:ty $(as $Kind:ty)? $(= $default:tt)?,)+
    }) => {
        $(#[$meta])*
        $vis struct $Name {
            $(
                $(#[doc = $text])+
                $(#[doc = $crate::text::fields::field!(text $default)])?
                pub $key: $Type,
            )+
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Written {
                    $($key: $crate::text::fields::field!(written $Type $(, $Kind)? $(= $default)?),)+
                }
                let written = Written::deserialize(deserializer)?;
                Ok(Self {
                    $($key: $crate::text::fields::field!(value written.$key $(= $default)?),)+
                })
            }
        }

        /// All of them are read when something is built from the struct.
        impl $crate::text::keys::Keys<()> for $Name {
            const NAMES: &'static [&'static str] = &[$(stringify!($key)),+];

            fn keys((): &()) -> Vec<$crate::text::keys::Key> {
                vec![$($crate::text::keys::Key {
                    name: stringify!($key),
                    kind: $crate::text::fields::field!(kind $Type $(, $Kind)?),
                    default: $crate::text::fields::field!(default $Type $(= $default)?),
                    description: concat!($($text),+).trim(),
                    origin: "",
                }),+]
            }

            fn apply(&self, (): &mut ()) -> unpause_text::error::Checked<()> {
                Ok(())
            }

            fn unread(&self) -> Vec<$crate::text::keys::Unread> {
                Vec::new()
            }
        }
    };
}

/// What [`fields!`] makes of one field.
macro_rules! field {
    (text [$words:literal]) => { concat!("\n\nIf not set: ", $words) };
    (text $value:tt) => { concat!("\n\nIf not set: `", $value, "`") };

    (written $Type:ty) => { $Type };
    (written $Type:ty, $Kind:ty) => { $Kind };
    (written $Type:ty = $default:tt) => { Option<$Type> };
    (written $Type:ty, $Kind:ty = $default:tt) => { Option<$Kind> };

    (value $written:ident.$key:ident) => { $written.$key.into() };
    (value $written:ident.$key:ident = [$words:literal]) => {
        $written.$key.map(Into::into).unwrap_or_default()
    };
    (value $written:ident.$key:ident = $value:tt) => { $written.$key.map_or($value, Into::into) };

    (kind $Type:ty) => { <$Type as $crate::text::kind::Kind>::KIND };
    (kind $Type:ty, $Kind:ty) => { <$Kind as $crate::text::kind::Kind>::KIND };

    (default $Type:ty) => { $crate::text::keys::KeyDefault::Required };
    (default $Type:ty = [$words:literal]) => { $crate::text::keys::KeyDefault::Words($words) };
    (default $Type:ty = $value:tt) => {{
        let value: $Type = $value;
        $crate::text::keys::KeyDefault::Value(value.to_string())
    }};
}

pub(crate) use {field, fields};
