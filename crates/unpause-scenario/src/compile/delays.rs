//! `extra_delay` of `[host]` and `[[traffic]]`.

use std::cell::RefCell;

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::traffic::{self, ExtraDelay};

use crate::file;
use crate::import::files::Files;
use crate::text::error::{Checked, Problem};

/// Extra delays of a run: that of `[host]`, and all distributions that are named.
pub(super) struct Delays {
    of_host: ExtraDelay,
    distributions: RefCell<Vec<traffic::Delays>>,
}

impl Delays {
    /// What `[host]` says.
    pub fn new(host: &Option<Spanned<file::ExtraDelay>>, files: &Files) -> Checked<Self> {
        let mut delays = Self {
            of_host: ExtraDelay::NONE,
            distributions: RefCell::new(Vec::new()),
        };
        delays.of_host = delays.of_entry(host, files)?;
        Ok(delays)
    }

    /// What an entry says, or `[host]` if it says nothing.
    pub fn of_entry(
        &self,
        said: &Option<Spanned<file::ExtraDelay>>,
        files: &Files,
    ) -> Checked<ExtraDelay> {
        let Some(said) = said else {
            return Ok(self.of_host);
        };
        let distribution = match said.get_ref() {
            file::ExtraDelay::One(time) => return Ok(ExtraDelay::Fixed(*time)),
            file::ExtraDelay::OneOf(times) if times.is_empty() => {
                return Problem::new("`extra_delay` is an empty array")
                    .at(said.span(), "no delay to choose")
                    .help("remove it, or write \"0us\"")
                    .err();
            }
            file::ExtraDelay::OneOf(times) => traffic::Delays::OneOf(times.clone()),
            file::ExtraDelay::File(name) => traffic::Delays::Cdf(files.times(name, &said.span())?),
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

    /// What flows are drawn from.
    pub fn into_distributions(self) -> Vec<traffic::Delays> {
        self.distributions.into_inner()
    }
}
