//! RED before links of different rates, as schemes that bring it set it.

use unpause_protocols::congestion_point::{self, red};
use unpause_protocols::units::{Fraction, Rate};
use unpause_sim::config::SchemeConfig;
use unpause_text::error::{Checked, Problem};

use crate::text::by_rate::{Rated, RatioByRate, SizeByRate};
use crate::text::keys::{Written, ordered};

/// Parameters of RED, each the same everywhere or by link rate.
pub(super) struct RedByRate {
    pub kmin: Rated<u64>,
    pub kmax: Rated<u64>,
    pub pmax: Rated<Fraction>,
}

impl Default for RedByRate {
    fn default() -> Self {
        red::Params::default().into()
    }
}

impl From<red::Params> for RedByRate {
    fn from(params: red::Params) -> Self {
        Self {
            kmin: Rated::same(params.kmin),
            kmax: Rated::same(params.kmax),
            pmax: Rated::same(params.pmax),
        }
    }
}

/// Its keys as written.
pub(super) struct RedKeys<'a> {
    pub kmin: &'a Written<SizeByRate>,
    pub kmax: &'a Written<SizeByRate>,
    pub pmax: &'a Written<RatioByRate>,
}

impl RedByRate {
    /// Every rate that one parameter names.
    fn rates(&self) -> Vec<Rate> {
        let sizes = self.kmin.rates().chain(self.kmax.rates());
        let mut rates: Vec<Rate> = sizes.chain(self.pmax.rates()).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// Refuses thresholds in the wrong order, and a rate that one parameter names and another does not.
    pub fn check(&self, keys: &RedKeys<'_>) -> Checked<()> {
        let (kmin, kmax) = (("kmin", keys.kmin), ("kmax", keys.kmax));
        for rate in self.rates() {
            let lacks = [
                (
                    "kmin",
                    self.kmin.at(rate).is_none(),
                    keys.kmin.peek().map(|it| it.span()),
                ),
                (
                    "kmax",
                    self.kmax.at(rate).is_none(),
                    keys.kmax.peek().map(|it| it.span()),
                ),
                (
                    "pmax",
                    self.pmax.at(rate).is_none(),
                    keys.pmax.peek().map(|it| it.span()),
                ),
            ];
            if let Some((key, _, Some(place))) = lacks.into_iter().find(|(_, lacks, _)| *lacks) {
                return Problem::new(format!("`{key}` has no value for links of {rate}"))
                    .at(place, "names other rates only")
                    .help(format!(
                        "another of kmin, kmax and pmax names {rate}: add it here, too"
                    ))
                    .err();
            }
        }
        ordered(kmin, &self.kmin, kmax, &self.kmax)
    }

    /// Has switches mark so.
    pub fn configure(self, scheme: SchemeConfig) -> SchemeConfig {
        let point = |rate: Rate| {
            let params = red::Params {
                kmin: self.kmin.at(rate)?,
                kmax: self.kmax.at(rate)?,
                pmax: self.pmax.at(rate)?,
            };
            Some((rate, congestion_point::Config::Red(params)))
        };
        let same = red::Params {
            kmin: self.kmin.same,
            kmax: self.kmax.same,
            pmax: self.pmax.same,
        };
        SchemeConfig {
            congestion_point: congestion_point::Config::Red(same),
            congestion_points: self.rates().into_iter().filter_map(point).collect(),
            ..scheme
        }
    }
}
