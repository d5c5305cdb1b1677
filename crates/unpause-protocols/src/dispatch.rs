//! The one list per kind of mechanism from which its enums and their dispatch are made.

/// Declares `Config` and the state enum of one kind of mechanism, and macros for their `impl`s:
/// `build!(config, off, args…)` makes the state, `dispatch!(self, it => call)` calls the mechanism in
/// use, `ask!(config, off, it => call)` its parameters. A new mechanism is one line in the list.
///
/// A kind that may do without a mechanism lists `None` with the state that stands for it, and `None` is
/// its default; any other kind says `always` in its place, chooses a default itself and passes no
/// `off`. `($)` lets the inner macros have parameters.
macro_rules! mechanisms {
    (
        ($d:tt)
        $(#[$point_doc:meta])*
        $Point:ident: $(#[$off_doc:meta])* None($Off:ty),
        $($(#[$doc:meta])* $Variant:ident($module:ident::$State:ident),)+
    ) => {
        /// Which mechanism to use, with its parameters.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum Config {
            $(#[$off_doc])*
            #[default]
            None,
            $($(#[$doc])* $Variant($module::Params),)+
        }

        $(#[$point_doc])*
        #[derive(Clone, Debug)]
        pub enum $Point {
            $(#[$off_doc])*
            None($Off),
            $($(#[$doc])* $Variant($module::$State),)+
        }

        macro_rules! build {
            ($d config:expr, $d off:expr $d (, $d arg:expr)*) => {
                match $d config {
                    Config::None => Self::None($d off),
                    $(Config::$Variant(params) => {
                        Self::$Variant($module::$State::new(params $d (, $d arg)*))
                    })+
                }
            };
        }

        #[allow(unused_macros, reason = "not every kind is asked before there is a state")]
        macro_rules! ask {
            ($d config:expr, $d off:expr, $d it:ident => $d call:expr) => {
                match $d config {
                    Config::None => $d off,
                    $(Config::$Variant($d it) => $d call,)+
                }
            };
        }

        macro_rules! dispatch {
            ($d point:expr, $d it:ident => $d call:expr) => {
                match $d point {
                    Self::None($d it) => $d call,
                    $(Self::$Variant($d it) => $d call,)+
                }
            };
        }
    };
    (
        ($d:tt)
        $(#[$point_doc:meta])*
        $Point:ident: always,
        $($(#[$doc:meta])* $Variant:ident($module:ident::$State:ident),)+
    ) => {
        /// Which mechanism to use, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config {
            $($(#[$doc])* $Variant($module::Params),)+
        }

        $(#[$point_doc])*
        #[derive(Clone, Debug)]
        pub enum $Point {
            $($(#[$doc])* $Variant($module::$State),)+
        }

        macro_rules! build {
            ($d config:expr $d (, $d arg:expr)*) => {
                match $d config {
                    $(Config::$Variant(params) => {
                        Self::$Variant($module::$State::new(params $d (, $d arg)*))
                    })+
                }
            };
        }

        #[allow(unused_macros, reason = "not every kind is asked before there is a state")]
        macro_rules! ask {
            ($d config:expr, $d it:ident => $d call:expr) => {
                match $d config {
                    $(Config::$Variant($d it) => $d call,)+
                }
            };
        }

        macro_rules! dispatch {
            ($d point:expr, $d it:ident => $d call:expr) => {
                match $d point {
                    $(Self::$Variant($d it) => $d call,)+
                }
            };
        }
    };
}

pub(crate) use mechanisms;
