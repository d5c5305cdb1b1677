//! PCN's parameters by the guidelines of its paper (NSDI 2020), and what they come to at a link rate by its fluid model.

use unpause_protocols::congestion_control::pcn;
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Error;

use super::comparison::{Comparison, DURATION};
use super::lines::{Line, table, wrong};
use crate::args::SuggestPcn;

const PAPER: &str = "PCN paper";
const MODEL: &str = "PCN paper, appendix A";
/// A frame of unpause's default payload, and a CNP with preamble and gap, bytes.
const FRAME: u64 = 1048;
const CNP: u64 = 98;
/// Links of the comparison's longest path.
const LINKS: u64 = 3;

/// The facts about a fabric.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    rate: Rate,
    rtt: Time,
    flows: u64,
}

impl Setting {
    /// As given, unless a period carries no frame.
    pub fn of(args: &SuggestPcn) -> Result<Self, Error> {
        let it = Self {
            rate: args.rate,
            rtt: args.rtt,
            flows: u64::from(args.flows),
        };
        if args.rtt > LONGEST {
            let message = format!("--rtt {}: at most {LONGEST}", args.rtt);
            return Err(wrong(message, "RTTs of data centres are 5us to 1ms"));
        }
        if it.in_a_period() < FRAME {
            let message = format!(
                "in an RTT of {}, {} carry {}B, less than one frame of {FRAME}B",
                it.rtt,
                it.rate,
                it.in_a_period()
            );
            return Err(wrong(
                message,
                "the RTT includes the time that a frame takes on each link",
            ));
        }
        Ok(it)
    }

    fn in_a_period(&self) -> u64 {
        self.rate.bytes_in(self.rtt)
    }

    /// 0.1 / N.
    fn w_min(&self) -> f64 {
        0.1 / self.flows as f64
    }

    fn w_min_text(&self) -> String {
        format!("1/{}", 10 * self.flows)
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = self.parameters();
        lines.extend(self.consequences());
        lines
    }

    fn parameters(&self) -> Vec<Line> {
        let line = |name: &str, value: String, formula: &str, source| {
            Line::new(name, value, formula.to_owned(), source)
        };
        let w_min = format!("0.1 / flows = 0.1 / {}", self.flows);
        let congested = "more marked packets in a period: decrease";
        let threshold = "marks as soon as a packet waits, except because of PAUSE";
        vec![
            line(
                "period",
                self.rtt.to_string(),
                "T = the largest RTT of the network",
                PAPER,
            ),
            line("w_min", self.w_min_text(), &w_min, PAPER),
            line("w_max", "1/2".into(), "at any rate", PAPER),
            line("congested_above", "95%".into(), congested, PAPER),
            line("ECN threshold", "0B".into(), threshold, PAPER),
            line(
                "min_rate",
                self.min_rate().to_string(),
                &self.min_rate_formula(),
                "ours",
            ),
        ]
    }

    /// The effect of the parameters at the link's rate.
    fn consequences(&self) -> Vec<Line> {
        let Self { rate, rtt, flows } = *self;
        let periods = periods_to_line_rate(self.w_min());
        let packets = self.in_a_period() as f64 / (flows * FRAME) as f64;
        let swing = (flows as f64 - 2.0 + self.w_min()).max(0.0) * self.w_min();
        let queue = (swing * self.in_a_period() as f64).ceil();
        let rates = Rate::from_bps((self.w_min() * rate.as_bps() as f64).round() as u64);
        let cnps = Rate::of(flows * CNP, rtt);
        let recovery = Time::from_ps(rtt.as_ps() * periods);
        let flow = if flows == 1 { "flow" } else { "flows" };
        vec![
            Line::new(
                "packets",
                format!("{packets:.1}"),
                format!("of each flow in a period: C x T / 8 / {flows} / {FRAME}B"),
                "ours",
            ),
            Line::new(
                "rate swing",
                rates.to_string(),
                "at most w_min x C, all flows together".into(),
                MODEL,
            ),
            Line::new(
                "queue swing",
                format!("{queue}B"),
                match flows {
                    1 => "one flow alone never has more than its rate: no swing".to_owned(),
                    _ => format!("({flows} - 2 + w_min) x w_min x C x T / 8"),
                },
                MODEL,
            ),
            Line::new(
                "recovery",
                recovery.to_string(),
                format!("{periods} periods without congestion: from nothing to 95 % of C"),
                "PCN paper, algorithm 1",
            ),
            Line::new(
                "CNPs",
                cnps.to_string(),
                format!("at most {flows} {flow} x {CNP}B x 8 / T, on the return path"),
                PAPER,
            ),
        ]
    }

    /// A flow's rate is never set below this; the fair share must be above.
    fn min_rate(&self) -> Rate {
        let share = self.rate.as_bps() / self.flows;
        Rate::from_bps(
            pcn::Params::default()
                .min_rate
                .as_bps()
                .min(share / 2)
                .max(1000),
        )
    }

    fn min_rate_formula(&self) -> String {
        let share = Rate::from_bps(self.rate.as_bps() / self.flows);
        if self.min_rate() == pcn::Params::default().min_rate {
            format!("below the fair share of {share}")
        } else {
            format!("half the fair share of {share}")
        }
    }

    /// The text for the terminal.
    pub fn text(&self) -> String {
        format!(
            "link: {}; largest RTT: {}; flows that share a bottleneck: {}\n\n{}\n\
             In a scenario:\n\n{}\n\
             The paper's parameters do not depend on the rate C; the lines from \"packets\" show their consequences.\n\
             Fewer than 20 packets in a period: 95 % means all of them. A smaller w_min swings less and recovers later.\n\
             Source: Cheng et al., NSDI 2020.\n",
            self.rate,
            self.rtt,
            self.flows,
            table(&self.lines()),
            self.section("", "")
        )
    }

    /// `[scheme.pcn]` with what differs from the defaults, and what is said of it.
    fn section(&self, of_period: &str, of_w_min: &str) -> String {
        format!(
            "[scheme.pcn]\nperiod = \"{}\"{of_period}\nw_min = \"{}\"{of_w_min}\nmin_rate = \"{}\"\n",
            self.rtt,
            self.w_min_text(),
            self.min_rate(),
        )
    }

    /// The paper's guideline against the defaults.
    pub fn comparison(&self) -> Result<Comparison, Error> {
        let frames = self.rate.time_for(LINKS * FRAME);
        let delay = self.rtt.saturating_sub(frames).as_ps() / (2 * LINKS) / 1000;
        if delay == 0 {
            return Err(wrong(
                format!(
                    "an RTT of {} leaves no time for {LINKS} links in both directions: a frame takes {frames} on them",
                    self.rtt
                ),
                "raise --rtt, or omit --write",
            ));
        }
        let duration = Time::from_ps(self.rtt.as_ps() * 20).max(DURATION);
        let schemes = format!(
            "[[scheme]]\nname = \"PFC\"\n\n\
             [[scheme]]\nname = \"PCN defaults\"\ncongestion_control = \"pcn\"\n\n\
             [[scheme]]\nname = \"PCN suggested\"\ncongestion_control = \"pcn\"\n{}\n",
            self.section(
                " # the largest RTT",
                &format!(" # 0.1 / {} flows", self.flows)
            )
        );
        Ok(Comparison {
            command: "pcn",
            title: "PCN's parameters for my fabric",
            rate: self.rate,
            delay: Time::from_ns(delay),
            frame: None,
            senders: self.flows.clamp(2, 4096) as u16,
            duration,
            switches: String::new(),
            schemes,
        })
    }
}

/// The longest RTT; a run of twenty takes seconds.
const LONGEST: Time = Time::from_ms(10);

/// Increases that take a rate from nothing to 95 % of line rate.
fn periods_to_line_rate(w_min: f64) -> u64 {
    let w_max = 0.5;
    let (mut rate, mut weight, mut periods) = (0.0, w_min, 0);
    while rate < 0.95 {
        rate += (1.0 - rate) * weight;
        weight = weight * (1.0 - weight) + w_max * weight;
        periods += 1;
    }
    periods
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(gbps: u64, us: u64, flows: u64) -> Setting {
        Setting {
            rate: Rate::from_gbps(gbps),
            rtt: Time::from_us(us),
            flows,
        }
    }

    /// 95 % after 15 loops (the paper, Fig. 10), and what Algorithm 1 gives for other weights.
    #[test]
    fn recovery_takes_as_many_periods_as_algorithm_1() {
        for (w_min, periods) in [
            (1.0 / 128.0, 15),
            (0.025, 12),
            (0.1 / 16.0, 16),
            (0.1 / 64.0, 19),
        ] {
            assert_eq!(periods_to_line_rate(w_min), periods);
        }
    }

    /// (4 - 2 + 0.025) x 0.025 x 10 Gb/s x 500 us.
    #[test]
    fn the_queue_swings_as_in_the_model() {
        let lines = setting(10, 500, 4).lines();
        let value = |name| {
            lines
                .iter()
                .find(|line| line.name == name)
                .unwrap()
                .value
                .clone()
        };
        assert_eq!(value("queue swing"), "31641B");
        assert_eq!(value("rate swing"), "250Mbps");
        assert_eq!(value("recovery"), "6ms");
        assert_eq!(value("w_min"), "1/40");
        assert_eq!(value("packets"), "149.1");
    }

    #[test]
    fn one_flow_is_named_in_the_singular() {
        let lines = setting(10, 500, 1).lines();
        let of = |name| lines.iter().find(|line| line.name == name).unwrap();
        assert_eq!(of("queue swing").value, "0B");
        assert!(of("queue swing").formula.starts_with("one flow alone"));
        assert!(of("CNPs").formula.starts_with("at most 1 flow x"));
    }

    #[test]
    fn the_least_rate_stays_below_the_fair_share() {
        assert_eq!(setting(100, 20, 16).min_rate(), Rate::from_mbps(1));
        assert_eq!(setting(1, 500, 1000).min_rate(), Rate::from_bps(500_000));
    }
}
