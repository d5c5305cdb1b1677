//! Parameters of mechanisms by name, as numbers.
//!
//! The names are those of the fields of each mechanism's `Params`; a field left out of a list does not compile.

use core::ffi::CStr;

use crate::units::{Fraction, Rate, Time};

/// One parameter of a mechanism.
pub struct Parameter<'a> {
    /// As scenario files and `unpause_config_set` take it.
    pub name: &'static CStr,
    /// The unit of its number.
    pub unit: &'static CStr,
    /// Names of the values 0, 1, …, if it chooses between some.
    pub choices: &'static [&'static CStr],
    /// Its value; none if another parameter is set that stands for the same.
    pub value: Option<u64>,
    /// Sets it; false if the value is out of range.
    pub set: &'a mut dyn FnMut(u64) -> bool,
}

/// Looks at one parameter after the other.
pub type Visitor<'a> = &'a mut dyn FnMut(Parameter<'_>);

/// The parameters of a mechanism.
pub trait Parameters {
    fn visit(&mut self, visitor: Visitor<'_>);
}

/// A field of parameters.
pub(crate) trait Field {
    fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>);
}

/// Fields that are one number.
macro_rules! numbers {
    ($($Type:ty: $unit:literal, $get:expr, $set:expr;)+) => { $(
        impl $crate::parameters::Field for $Type {
            fn visit(&mut self, name: &'static core::ffi::CStr, visitor: $crate::parameters::Visitor<'_>) {
                let get: fn($Type) -> u64 = $get;
                let make: fn(u64) -> Option<$Type> = $set;
                visitor($crate::parameters::Parameter {
                    name,
                    unit: $unit,
                    choices: &[],
                    value: Some(get(*self)),
                    set: &mut |value| make(value).map(|made| *self = made).is_some(),
                });
            }
        }
    )+ };
}

numbers! {
    Time: c"ps", Time::as_ps, |ps| Some(Time::from_ps(ps));
    Rate: c"bit/s", Rate::as_bps, |bps| Some(Rate::from_bps(bps));
    Fraction: c"2^-32", Fraction::as_q32,
        |q32| (q32 <= Fraction::ONE.as_q32()).then(|| Fraction::from_q32(q32));
    u64: c"1", |it| it, Some;
    u32: c"1", u64::from, |it| it.try_into().ok();
    u8: c"1", u64::from, |it| it.try_into().ok();
}

/// Fields that choose, by the names of scenario files.
macro_rules! choices {
    ($($Type:ty { $($Variant:ident = $name:literal),+ })+) => { $(
        impl $crate::parameters::Field for $Type {
            fn visit(&mut self, name: &'static core::ffi::CStr, visitor: $crate::parameters::Visitor<'_>) {
                type Choice = $Type;
                const ALL: &[Choice] = &[$(Choice::$Variant),+];
                // Without `_`: a variant left out does not compile.
                match self { $(Choice::$Variant)|+ => {} }
                visitor($crate::parameters::Parameter {
                    name,
                    unit: c"choice",
                    choices: &[$($name),+],
                    value: ALL.iter().position(|it| it == self).map(|at| at as u64),
                    set: &mut |value| {
                        let chosen = usize::try_from(value).ok().and_then(|at| ALL.get(at));
                        chosen.map(|it| *self = *it).is_some()
                    },
                });
            }
        }
    )+ };
}

/// Numbers that may be left out: then they are 0.
macro_rules! optional {
    ($($Type:ty: $unit:literal, $get:expr, $set:expr;)+) => { $(
        impl Field for Option<$Type> {
            fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
                let get: fn($Type) -> u64 = $get;
                let make: fn(u64) -> $Type = $set;
                visitor(Parameter {
                    name,
                    unit: $unit,
                    choices: &[],
                    value: Some(self.map_or(0, get)),
                    set: &mut |value| {
                        *self = (value > 0).then(|| make(value));
                        true
                    },
                });
            }
        }
    )+ };
}

optional! {
    u64: c"1, 0 for none", |it| it, |it| it;
    Time: c"ps, 0 for none", Time::as_ps, Time::from_ps;
    Rate: c"bit/s, 0 for none", Rate::as_bps, Rate::from_bps;
}

impl Field for bool {
    fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
        visitor(Parameter {
            name,
            unit: c"choice",
            choices: &[c"false", c"true"],
            value: Some(u64::from(*self)),
            set: &mut |value| {
                if value <= 1 {
                    *self = value == 1;
                }
                value <= 1
            },
        });
    }
}

/// Fields that say the same in several ways, each a parameter of its own; setting one takes the others'
/// place.
macro_rules! ways {
    ($($Type:ty { $($name:literal $unit:literal = $get:expr, $set:expr;)+ })+) => { $(
        impl $crate::parameters::Field for $Type {
            fn visit(&mut self, _: &'static core::ffi::CStr, visitor: $crate::parameters::Visitor<'_>) {
                $({
                    let get: fn($Type) -> Option<u64> = $get;
                    let make: fn($Type, u64) -> Option<$Type> = $set;
                    visitor($crate::parameters::Parameter {
                        name: $name,
                        unit: $unit,
                        choices: &[],
                        value: get(*self),
                        set: &mut |value| make(*self, value).map(|made| *self = made).is_some(),
                    });
                })+
            }
        }
    )+ };
}

/// Visits the fields of `Params` by their names.
macro_rules! parameters {
    ($($kind:ident::$module:ident { $($field:ident),* })+) => { $(
        impl $crate::parameters::Parameters for $crate::$kind::$module::Params {
            #[allow(unused, reason = "some have no parameters")]
            fn visit(&mut self, visitor: $crate::parameters::Visitor<'_>) {
                use $crate::parameters::{Field as _, field_name};
                // Without `..`: a field left out does not compile.
                let Self { $($field),* } = self;
                $($field.visit(field_name(concat!(stringify!($field), "\0")), visitor);)*
            }
        }
    )+ };
}

/// The mechanisms of one kind by name: of each its variant, its file, and the fields of its parameters. What is left out does not
/// compile; those that are `without` are no machines by themselves.
macro_rules! named {
    ($kind:ident: $($name:literal $Variant:ident of $file:ident { $($field:ident),* },)+ $(without $($Absent:ident),+)?) => {
        /// Every mechanism with a name, and its defaults.
        pub(crate) fn named() -> impl Iterator<Item = (&'static core::ffi::CStr, Config)> {
            let all = [(c"none", Config::None), $(($name, Config::$Variant(Default::default())),)+];
            all.into_iter()
        }

        /// Calls `visitor` with one parameter after the other.
        pub(crate) fn visit(config: &mut Config, visitor: $crate::parameters::Visitor<'_>) {
            use $crate::parameters::Parameters as _;
            match config {
                Config::None $($(| Config::$Absent(_))+)? => {}
                $(Config::$Variant(params) => params.visit(visitor),)+
            }
        }

        $crate::parameters::parameters! { $($kind::$file { $($field),* })+ }
    };
}

pub(crate) use {choices, named, numbers, parameters, ways};

/// The name without the zero that it ends with.
pub(crate) const fn field_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a field's name has no zero but the last"),
    }
}
