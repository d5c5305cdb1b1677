//! `extra_delay` of `[host]` and `[[traffic]]`.

use std::cell::RefCell;
use std::fmt;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::Duration;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use unpause_protocols::units::Time;
use unpause_sim::traffic::{self, ExtraDelay};

use crate::files::Files;
use crate::text::keys::Written;
use crate::text::kind::{HasKind, Kind};

/// A delay, delays of which each flow has one, or a file with their distribution.
pub(crate) enum ExtraDelayKey {
    One(Time),
    OneOf(Vec<Time>),
    File(String),
}

impl HasKind for ExtraDelayKey {
    fn kind() -> Kind {
        Kind::new("time, times or path", NameList::kind().schema)
    }
}

struct ExtraDelayVisitor;

impl<'de> Visitor<'de> for ExtraDelayVisitor {
    type Value = ExtraDelayKey;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"20us\", an array of times or a file's name")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<ExtraDelayKey, E> {
        // A file whose name looks like a number can be written with its directory: "./20us".
        if !text
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c))
        {
            return Ok(ExtraDelayKey::File(text.to_owned()));
        }
        let duration = Duration::deserialize(de::value::StrDeserializer::new(text))?;
        Ok(ExtraDelayKey::One(duration.0))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<ExtraDelayKey, A::Error> {
        let mut times = Vec::new();
        while let Some(time) = sequence.next_element::<Duration>()? {
            times.push(time.0);
        }
        Ok(ExtraDelayKey::OneOf(times))
    }
}

impl<'de> Deserialize<'de> for ExtraDelayKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtraDelayVisitor)
    }
}

/// Extra delays of a run: that of `[host]`, and all distributions that are named.
pub(crate) struct Delays {
    of_host: ExtraDelay,
    distributions: RefCell<Vec<traffic::Delays>>,
}

impl Delays {
    /// The delay of `[host]`.
    pub fn new(host: &Written<ExtraDelayKey>, files: &Files) -> Checked<Self> {
        let mut delays = Self {
            of_host: ExtraDelay::NONE,
            distributions: RefCell::new(Vec::new()),
        };
        delays.of_host = delays.of_entry(host, files)?;
        Ok(delays)
    }

    /// The delay that `[host]` gives to flows.
    pub fn of_host(&self) -> ExtraDelay {
        self.of_host
    }

    /// The setting of an entry, or else that of `[host]`.
    pub fn of_entry(&self, said: &Written<ExtraDelayKey>, files: &Files) -> Checked<ExtraDelay> {
        let Some(said) = said.get() else {
            return Ok(self.of_host);
        };
        let distribution = match said.get_ref() {
            ExtraDelayKey::One(time) => return Ok(ExtraDelay::Fixed(*time)),
            ExtraDelayKey::OneOf(times) if times.is_empty() => {
                return Problem::new("`extra_delay` is an empty array")
                    .at(said.span(), "no delay to choose")
                    .help("remove it, or write \"0us\"")
                    .err();
            }
            ExtraDelayKey::OneOf(times) => traffic::Delays::OneOf(times.clone()),
            ExtraDelayKey::File(name) => traffic::Delays::Cdf(files.times(name, &said.span())?),
        };
        let mut all = self.distributions.borrow_mut();
        all.push(distribution);
        match u16::try_from(all.len() - 1) {
            Ok(index) => Ok(ExtraDelay::Drawn(index)),
            Err(_) => Problem::new("more than 65536 distributions of delays")
                .at(said.span(), "one too many")
                .err(),
        }
    }

    /// The longest that `[host]` can give.
    pub fn longest_of_host(&self) -> Time {
        match self.of_host {
            ExtraDelay::Fixed(time) => time,
            ExtraDelay::Drawn(index) => self.distributions.borrow()[usize::from(index)].longest(),
        }
    }

    /// The distributions from which flows draw their delay.
    pub fn into_distributions(self) -> Vec<traffic::Delays> {
        self.distributions.into_inner()
    }
}
