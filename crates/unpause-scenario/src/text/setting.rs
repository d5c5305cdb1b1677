//! How values of the scenario file are stored in parameters of mechanisms, and shown.

use std::fmt;
use std::marker::PhantomData;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use serde::de::value::{I64Deserializer, StrDeserializer};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use unpause_protocols::congestion_control::{dcqcn, swift, timely};
use unpause_protocols::congestion_point::dctcp_red::Threshold;
use unpause_protocols::congestion_point::{ecn_sharp, np_ecn, qcn, tofino};
use unpause_protocols::names::Names;
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_sim::{bytes, config};

use super::kind::{HasKind, Kind, OneOf, kinds, number};

impl<T: HasKind> HasKind for OrNone<T> {
    fn kind() -> Kind {
        T::kind().or("none")
    }
}

kinds! {
    Percent: Ratio::kind();
    PowerOfHalf: Ratio::kind();
    Speedup: Ratio::kind();
    Packets: number();
}

/// A value of the file that sets a parameter of type `T`.
pub(crate) trait Setting<T> {
    /// Sets it, or says why it cannot be.
    fn store(&self, slot: &mut T) -> Result<(), String>;
    /// The value as the file would have it.
    fn show(slot: &T) -> String;
}

/// A value as the file would have it, written as an `S`.
pub(crate) fn show<T, S: Setting<T>>(slot: &T) -> String {
    S::show(slot)
}

impl Setting<Time> for Duration {
    fn store(&self, slot: &mut Time) -> Result<(), String> {
        *slot = self.0;
        Ok(())
    }
    fn show(slot: &Time) -> String {
        Self(*slot).to_string()
    }
}

impl Setting<Rate> for DataRate {
    fn store(&self, slot: &mut Rate) -> Result<(), String> {
        if self.0 == Rate::ZERO {
            return Err("a rate of zero".into());
        }
        *slot = self.0;
        Ok(())
    }
    fn show(slot: &Rate) -> String {
        slot.to_string()
    }
}

impl Setting<u64> for Size {
    fn store(&self, slot: &mut u64) -> Result<(), String> {
        *slot = self.0;
        Ok(())
    }
    fn show(slot: &u64) -> String {
        bytes(*slot)
    }
}

impl Setting<Option<u64>> for Size {
    fn store(&self, slot: &mut Option<u64>) -> Result<(), String> {
        *slot = Some(self.0);
        Ok(())
    }
    fn show(slot: &Option<u64>) -> String {
        slot.map_or("-".into(), bytes)
    }
}

impl Setting<u32> for Size {
    fn store(&self, slot: &mut u32) -> Result<(), String> {
        *slot = u32::try_from(self.0).map_err(|_| "more than 4 GB".to_owned())?;
        Ok(())
    }
    fn show(slot: &u32) -> String {
        bytes(u64::from(*slot))
    }
}

impl Setting<u16> for Size {
    fn store(&self, slot: &mut u16) -> Result<(), String> {
        *slot = u16::try_from(self.0).map_err(|_| "more than 65535 bytes".to_owned())?;
        Ok(())
    }
    fn show(slot: &u16) -> String {
        bytes(u64::from(*slot))
    }
}

impl Setting<Threshold> for Size {
    fn store(&self, slot: &mut Threshold) -> Result<(), String> {
        *slot = Threshold::Bytes(self.0);
        Ok(())
    }
    fn show(slot: &Threshold) -> String {
        match slot {
            Threshold::Bytes(size) => bytes(*size),
            Threshold::Packets(packets) => format!("{packets} packets"),
        }
    }
}

impl Setting<Fraction> for Ratio {
    fn store(&self, slot: &mut Fraction) -> Result<(), String> {
        if self.num > self.den {
            return Err("more than 1".into());
        }
        *slot = Fraction::of(self.num, self.den);
        Ok(())
    }
    fn show(slot: &Fraction) -> String {
        let share = slot.as_q32() as f64 / Fraction::ONE.as_q32() as f64;
        if share > 0.0 && share < 0.5 && (1.0 / share).fract() == 0.0 {
            return format!("1/{}", 1.0 / share);
        }
        format!("{}", (share * 1e6).round() / 1e6)
    }
}

impl Setting<swift::Packets> for Ratio {
    fn store(&self, slot: &mut swift::Packets) -> Result<(), String> {
        if self.num == 0 {
            return Err("no packet at all".into());
        }
        *slot = swift::Packets::of(self.num, self.den);
        Ok(())
    }
    fn show(slot: &swift::Packets) -> String {
        let packets = slot.as_q32() as f64 / swift::Packets::ONE.as_q32() as f64;
        format!("{}", (packets * 1e6).round() / 1e6)
    }
}

macro_rules! plain {
    ($($T:ty),+) => {
        $(impl Setting<$T> for $T {
            fn store(&self, slot: &mut $T) -> Result<(), String> {
                *slot = *self;
                Ok(())
            }
            fn show(slot: &$T) -> String {
                slot.to_string()
            }
        })+
    };
}

plain!(u8, u16, u32, u64, bool);

/// Numbers and switches that may be left open.
macro_rules! optional {
    ($($T:ty),+) => {
        $(impl Setting<Option<$T>> for $T {
            fn store(&self, slot: &mut Option<$T>) -> Result<(), String> {
                *slot = Some(*self);
                Ok(())
            }
            fn show(slot: &Option<$T>) -> String {
                slot.map_or("-".into(), |value| value.to_string())
            }
        })+
    };
}

optional!(u32, bool);

/// A ratio in whole per cent.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Percent(Ratio);

impl Setting<u32> for Percent {
    fn store(&self, slot: &mut u32) -> Result<(), String> {
        let hundredfold = u128::from(self.0.num) * 100;
        let den = u128::from(self.0.den);
        if hundredfold % den != 0 || hundredfold / den > 100 {
            return Err("not a whole number of per cent from 0% to 100%".into());
        }
        *slot = (hundredfold / den) as u32;
        Ok(())
    }
    fn show(slot: &u32) -> String {
        format!("{slot}%")
    }
}

/// A ratio, stored in per cent.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Speedup(Ratio);

impl Setting<u32> for Speedup {
    fn store(&self, slot: &mut u32) -> Result<(), String> {
        *slot = (self.0.as_f64() * 100.0).round() as u32;
        Ok(())
    }
    fn show(slot: &u32) -> String {
        format!("{}", f64::from(*slot) / 100.0)
    }
}

/// 1, 1/2, 1/4, …: stored as the number of halvings.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct PowerOfHalf(Ratio);

impl Setting<u8> for PowerOfHalf {
    fn store(&self, slot: &mut u8) -> Result<(), String> {
        (0..=31)
            .find(|log2| u128::from(self.0.num) << log2 == u128::from(self.0.den))
            .map(|log2| *slot = log2)
            .ok_or_else(|| "it must be 1 over a power of two, as in \"1/128\"".into())
    }
    fn show(slot: &u8) -> String {
        format!("1/{}", 1_u64 << slot)
    }
}

/// Values of an enum of `unpause-protocols` or `unpause-sim`.
impl<T: Names> Setting<T> for OneOf<T> {
    fn store(&self, slot: &mut T) -> Result<(), String> {
        *slot = self.0;
        Ok(())
    }
    fn show(slot: &T) -> String {
        slot.name().into()
    }
}

pub(crate) type Queueing = OneOf<config::Queueing>;
pub(crate) type NicModel = OneOf<config::NicModel>;
pub(crate) type RateChange = OneOf<config::RateChange>;
pub(crate) type AckPriority = OneOf<config::AckPriority>;
pub(crate) type Qdisc = OneOf<config::Qdisc>;
pub(crate) type EcnSharpVariant = OneOf<ecn_sharp::Variant>;
pub(crate) type TofinoLoad = OneOf<tofino::Load>;
pub(crate) type MarkBasis = OneOf<np_ecn::MarkBasis>;
pub(crate) type Quantisation = OneOf<qcn::Quantisation>;
pub(crate) type QcnMode = OneOf<qcn::Mode>;
pub(crate) type QcnInterval = OneOf<qcn::Interval>;
pub(crate) type QcnCount = OneOf<qcn::Count>;
pub(crate) type AlphaOrder = OneOf<dcqcn::AlphaOrder>;
pub(crate) type TimelyVariant = OneOf<timely::Variant>;

/// A number of packets.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Packets(pub u32);

/// The name for the time that a packet waits.
#[derive(Clone, Copy, PartialEq, Names)]
pub(crate) enum SojournSignal {
    SojournTime,
    QueueLength,
}

impl Setting<Option<Rate>> for DataRate {
    fn store(&self, slot: &mut Option<Rate>) -> Result<(), String> {
        *slot = Some(self.0);
        Ok(())
    }
    fn show(slot: &Option<Rate>) -> String {
        slot.map_or("-".into(), |rate| rate.to_string())
    }
}

/// A value, or `"none"`.
#[derive(Clone, Copy, Default)]
pub(crate) struct OrNone<T>(pub Option<T>);

/// Reads a value, or `"none"`.
struct OrNoneVisitor<T>(PhantomData<T>);

impl<'de, T: HasKind + Deserialize<'de>> Visitor<'de> for OrNoneVisitor<T> {
    type Value = OrNone<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} or \"none\"", T::kind().text)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<OrNone<T>, E> {
        T::deserialize(I64Deserializer::new(number)).map(|value| OrNone(Some(value)))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<OrNone<T>, E> {
        match text {
            "none" => Ok(OrNone(None)),
            // A number in quotes is not a number.
            text if T::kind().schema["type"] == "number" => {
                Err(E::invalid_value(de::Unexpected::Str(text), &self))
            }
            text => T::deserialize(StrDeserializer::new(text)).map(|value| OrNone(Some(value))),
        }
    }
}

impl<'de, T: HasKind + Deserialize<'de>> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrNoneVisitor(PhantomData))
    }
}

impl<T: fmt::Display> fmt::Display for OrNone<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.pad("none"),
        }
    }
}

impl<P: Default, T: Setting<P>> Setting<Option<P>> for OrNone<T> {
    fn store(&self, slot: &mut Option<P>) -> Result<(), String> {
        *slot = None;
        match &self.0 {
            Some(value) => value.store(slot.insert(P::default())),
            None => Ok(()),
        }
    }
    fn show(slot: &Option<P>) -> String {
        slot.as_ref().map_or("none".into(), T::show)
    }
}

impl Setting<Option<Time>> for Duration {
    fn store(&self, slot: &mut Option<Time>) -> Result<(), String> {
        *slot = Some(self.0);
        Ok(())
    }
    fn show(slot: &Option<Time>) -> String {
        slot.map_or("off".into(), |time| Self(time).to_string())
    }
}

impl Setting<Threshold> for Packets {
    fn store(&self, slot: &mut Threshold) -> Result<(), String> {
        *slot = Threshold::Packets(self.0);
        Ok(())
    }
    fn show(slot: &Threshold) -> String {
        match slot {
            Threshold::Bytes(_) => "off".into(),
            Threshold::Packets(packets) => packets.to_string(),
        }
    }
}

impl Setting<ecn_sharp::Signal> for OneOf<SojournSignal> {
    fn store(&self, slot: &mut ecn_sharp::Signal) -> Result<(), String> {
        *slot = match self.0 {
            SojournSignal::SojournTime => ecn_sharp::Signal::SojournTime,
            // The simulator sets it to that of each queue's link.
            SojournSignal::QueueLength => ecn_sharp::Signal::QueueLength(Rate::from_gbps(1)),
        };
        Ok(())
    }
    fn show(slot: &ecn_sharp::Signal) -> String {
        match slot {
            ecn_sharp::Signal::SojournTime => SojournSignal::SojournTime,
            ecn_sharp::Signal::QueueLength(_) => SojournSignal::QueueLength,
        }
        .name()
        .into()
    }
}
