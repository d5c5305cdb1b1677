//! Values that may differ by the rate of a link: one for all, or a table such as
//! `{ "10Gbps" = 3, "40Gbps" = 1 }`.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use unpause_text::quantity::{DataRate, Ratio, Size};

use serde::de::value::{BoolDeserializer, F64Deserializer, I64Deserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use unpause_protocols::units::Rate;

use super::kind::{HasKind, Kind};
use super::setting::Setting;

/// A value for all links, or one for links of each rate.
pub(crate) enum ByRate<S> {
    Same(S),
    Each(Vec<(Rate, S)>),
}

pub(crate) type NumberByRate = ByRate<u32>;
pub(crate) type SizeByRate = ByRate<Size>;
pub(crate) type RatioByRate = ByRate<Ratio>;

impl<T: HasKind> HasKind for ByRate<T> {
    fn kind() -> Kind {
        T::kind().by_rate()
    }
}

struct Read<S>(PhantomData<S>);

impl<'de, S: Deserialize<'de>> Visitor<'de> for Read<S> {
    type Value = ByRate<S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a table of values by link rate")
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        let value: BoolDeserializer<E> = value.into_deserializer();
        S::deserialize(value).map(ByRate::Same)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        let value: I64Deserializer<E> = value.into_deserializer();
        S::deserialize(value).map(ByRate::Same)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        let value: F64Deserializer<E> = value.into_deserializer();
        S::deserialize(value).map(ByRate::Same)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        let value: StrDeserializer<'_, E> = value.into_deserializer();
        S::deserialize(value).map(ByRate::Same)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut each: Vec<(Rate, S)> = Vec::new();
        while let Some((rate, value)) = map.next_entry::<DataRate, S>()? {
            if each.iter().any(|(known, _)| *known == rate.0) {
                return Err(A::Error::custom(format!("{} is given twice", rate.0)));
            }
            each.push((rate.0, value));
        }
        if each.is_empty() {
            Err(A::Error::custom("no rate at all; write { \"10Gbps\" = … }"))
        } else {
            Ok(ByRate::Each(each))
        }
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for ByRate<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// A parameter that may differ by the rate of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rated<T> {
    /// The value of all links, unless `each` is set.
    pub same: T,
    /// Values by link rate; links of other rates are refused.
    pub each: Vec<(Rate, T)>,
}

impl<T: Copy> Rated<T> {
    /// The same everywhere.
    pub fn same(value: T) -> Self {
        Self {
            same: value,
            each: Vec::new(),
        }
    }

    /// The value at links of `rate`; none if only others are named.
    pub fn at(&self, rate: Rate) -> Option<T> {
        if self.each.is_empty() {
            return Some(self.same);
        }
        let found = self.each.iter().find(|(of, _)| *of == rate);
        found.map(|(_, value)| *value)
    }

    /// The rates that are named.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        self.each.iter().map(|(rate, _)| *rate)
    }
}

/// One is at most the other if it is so at every rate that is named.
impl<T: Copy + PartialOrd> PartialOrd for Rated<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self == other {
            return Some(Ordering::Equal);
        }
        let rates: Vec<Rate> = self.rates().chain(other.rates()).collect();
        let is_below = if rates.is_empty() {
            self.same <= other.same
        } else {
            rates
                .iter()
                .all(|rate| match (self.at(*rate), other.at(*rate)) {
                    (Some(low), Some(high)) => low <= high,
                    _ => true,
                })
        };
        Some(if is_below {
            Ordering::Less
        } else {
            Ordering::Greater
        })
    }
}

impl<T: Copy, S: Setting<T>> Setting<Rated<T>> for ByRate<S> {
    fn store(&self, slot: &mut Rated<T>) -> Result<(), String> {
        match self {
            Self::Same(value) => value.store(&mut slot.same),
            Self::Each(values) => {
                for (rate, value) in values {
                    let mut one = slot.same;
                    value
                        .store(&mut one)
                        .map_err(|why| format!("{why}, at {rate}"))?;
                    slot.each.push((*rate, one));
                }
                Ok(())
            }
        }
    }
    fn show(slot: &Rated<T>) -> String {
        S::show(&slot.same)
    }
}
