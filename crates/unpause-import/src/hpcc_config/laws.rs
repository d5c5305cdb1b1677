//! The congestion control of a `config.txt`, in the keys of its scheme.

use unpause_protocols::units::Rate;

use super::rates::written;
use super::writer::Writer;
use crate::FileError;
use crate::hpcc::ns3_rate;

impl Writer<'_> {
    pub(super) fn dcqcn(&mut self) -> Result<(), FileError> {
        let config = self.config;
        self.key("cnp_on_ack", "true", "the flag of its ACKs");
        self.key("clocks", "\"separate\"", "as its ConnectX-4");
        self.key("byte_counter", "\"none\"", "it has none");
        self.time("alpha_timer", config.alpha_resume, "ALPHA_RESUME_INTERVAL");
        self.time(
            "cut_interval",
            config.rate_decrease,
            "RATE_DECREASE_INTERVAL",
        );
        self.time("increase_timer", config.rp_timer, "RP_TIMER");
        self.gain("g");
        self.key(
            "fr_threshold",
            config.fast_recovery.to_string(),
            "FAST_RECOVERY_TIMES",
        );
        self.key(
            "clamp_target",
            config.clamp_target.to_string(),
            "CLAMP_TARGET_RATE",
        );
        self.rate("rate_ai", &config.rate_ai, "RATE_AI")?;
        self.rate("rate_hai", &config.rate_hai, "RATE_HAI")?;
        self.rate("min_rate", &config.min_rate, "MIN_RATE")?;
        self.marking()
    }

    pub(super) fn timely(&mut self) -> Result<(), FileError> {
        let config = self.config;
        self.key(
            "variant",
            "\"hpcc\"",
            "one update a round trip, packets paced one by one",
        );
        self.key(
            "min_rtt",
            "\"20us\"",
            "TimelyMinRtt; t_low, t_high, ewma and beta are the defaults here, too",
        );
        self.rate("delta", &config.rate_ai, "RATE_AI")?;
        self.rate("hai_delta", &config.rate_hai, "RATE_HAI")?;
        self.rate("min_rate", &config.min_rate, "MIN_RATE")
    }

    pub(super) fn dctcp(&mut self) -> Result<(), FileError> {
        let config = self.config;
        self.gain("g");
        self.rate("rate_ai", &config.dctcp_rate_ai, "DCTCP_RATE_AI")?;
        self.rate("min_rate", &config.min_rate, "MIN_RATE")?;
        self.marking()
    }

    pub(super) fn hpcc(&mut self) -> Result<(), FileError> {
        let config = self.config;
        if !config.has_win {
            let expected = "1: HPCC divides by the window";
            return Err(self.wrong("HAS_WIN", "HAS_WIN 0 with CC_MODE 3", expected));
        }
        if config.global_t {
            let (rtt, bdp) = self.ways().largest();
            self.key(
                "base_rtt",
                format!("\"{rtt}ns\""),
                "GLOBAL_T 1: the longest base RTT",
            );
            self.key(
                "window",
                format!("\"{bdp}B\""),
                "and the largest bandwidth-delay product",
            );
        } else {
            self.key(
                "per_path",
                "true",
                "GLOBAL_T 0: base RTT and window of each flow's path",
            );
        }
        self.key("fixed_window", (!config.var_win).to_string(), "VAR_WIN");
        self.key("u_target", config.u_target.to_string(), "U_TARGET");
        self.key("mi_thresh", config.mi_thresh.to_string(), "MI_THRESH");
        self.key("fast_react", config.fast_react.to_string(), "FAST_REACT");
        self.key("multi_rate", config.multi_rate.to_string(), "MULTI_RATE");
        self.key(
            "sample_feedback",
            config.sample_feedback.to_string(),
            "SAMPLE_FEEDBACK",
        );
        self.key(
            "tx_unit",
            format!("\"{}B\"", 128 * config.int_multi),
            "INT counts bytes sent so, times INT_MULTI",
        );
        self.key(
            "queue_unit",
            format!("\"{}B\"", 80 * config.int_multi),
            "and queues so",
        );
        self.rate("rate_ai", &config.rate_ai, "RATE_AI")?;
        self.rate("min_rate", &config.min_rate, "MIN_RATE")?;
        const KNOWN: [u64; 5] = [25, 50, 100, 200, 400];
        let unknown = |rate: &Rate| !KNOWN.iter().any(|gbps| Rate::from_gbps(*gbps) == *rate);
        let unknown: Vec<String> = self
            .rates()
            .iter()
            .filter(|rate| unknown(rate))
            .map(|rate| written(*rate))
            .collect();
        if !unknown.is_empty() {
            self.key(
                "unknown_rate",
                "\"25Gbps\"",
                "what its INT says of rates but 25, 50, 100, 200 and 400 Gb/s",
            );
        }
        Ok(())
    }

    pub(super) fn pint(&mut self) -> Result<(), FileError> {
        let config = self.config;
        let (base, share) = (config.pint_log_base, config.pint_prob);
        if !(1.0002..=2.0).contains(&base) {
            let found = format!("PINT_LOG_BASE {base}");
            return Err(self.wrong("PINT_LOG_BASE", found, "a base from 1.0002 to 2"));
        }
        if !(0.0..=1.0).contains(&share) {
            let found = format!("PINT_PROB {share}");
            return Err(self.wrong("PINT_PROB", found, "a share of packets from 0 to 1"));
        }
        let (rtt, _) = self.ways().largest();
        self.key(
            "base_rtt",
            format!("\"{rtt}ns\""),
            "the longest base RTT, whatever GLOBAL_T is",
        );
        let step = ((base - 1.0) * 1e9).round() / 1e9;
        self.key("log_step", step.to_string(), "PINT_LOG_BASE, less 1");
        self.key("share", share.to_string(), "PINT_PROB");
        self.key("u_target", config.u_target.to_string(), "U_TARGET");
        self.key("mi_thresh", config.mi_thresh.to_string(), "MI_THRESH");
        self.rate("rate_ai", &config.rate_ai, "RATE_AI")?;
        self.rate("min_rate", &config.min_rate, "MIN_RATE")
    }

    /// ECN thresholds by link rate; without marks, thresholds that no queue reaches.
    fn marking(&mut self) -> Result<(), FileError> {
        let config = self.config;
        if !config.enable_qcn {
            self.key("kmin", "\"1GB\"", "ENABLE_QCN 0: no marks");
            self.key("kmax", "\"1GB\"", "");
            return Ok(());
        }
        let rates = self.marked_rates();
        for (key, name, map) in [
            ("kmin", "KMIN_MAP", &config.kmin),
            ("kmax", "KMAX_MAP", &config.kmax),
            ("pmax", "PMAX_MAP", &config.pmax),
        ] {
            let mut each = Vec::new();
            for rate in &rates {
                let of_rate = map.iter().rev().find(|(bps, _)| *bps == rate.as_bps());
                let Some((_, value)) = of_rate else {
                    let found = format!("{name} without {}", rate.as_bps());
                    let expected = "a threshold for each link rate of the topology";
                    return Err(self.wrong(name, found, expected));
                };
                let value = match key {
                    "pmax" => value.to_string(),
                    _ => format!("\"{}KB\"", *value as u64),
                };
                each.push(format!("\"{}\" = {value}", written(*rate)));
            }
            self.key(key, format!("{{ {} }}", each.join(", ")), name);
        }
        Ok(())
    }

    /// Whole microseconds, as its clocks have them.
    fn time(&mut self, key: &str, us: f64, of: &str) {
        self.key(key, format!("\"{}us\"", us as u64), of);
    }

    /// The gain, a power of a half. None, which is 0 there, is the least there is.
    fn gain(&mut self, key: &str) {
        let gain = self.config.ewma_gain;
        if gain == 0.0 {
            self.key(key, format!("\"1/{}\"", 1_u64 << 31), "EWMA_GAIN");
            let why = if self.config.has("EWMA_GAIN") {
                "0 keeps alpha as it is; here it is 1/2147483648, the nearest"
            } else {
                "it is not set, and then 0 there (its 1/16 is a whole number), which keeps alpha as it is; here it \
                     is 1/2147483648, the nearest"
            };
            self.leave_out("EWMA_GAIN", why);
            return;
        }
        let log2 = (0..=31).min_by(|a, b| {
            let distance = |log2: i32| (gain * 2_f64.powi(log2)).ln().abs();
            distance(*a).total_cmp(&distance(*b))
        });
        let log2 = log2.unwrap_or(8);
        self.key(key, format!("\"1/{}\"", 1_u64 << log2), "EWMA_GAIN");
        if gain * 2_f64.powi(log2) != 1.0 {
            let why = format!(
                "{gain} is not a power of 1/2; here it is 1/{}",
                1_u64 << log2
            );
            self.leave_out("EWMA_GAIN", &why);
        }
    }

    fn rate(&mut self, key: &str, text: &str, of: &str) -> Result<(), FileError> {
        match ns3_rate(text) {
            Some(rate) if rate > Rate::ZERO => {
                self.key(key, format!("\"{}\"", written(rate)), of);
                Ok(())
            }
            Some(_) => {
                self.key(key, "\"1bps\"", of);
                self.leave_out(of, "a rate of 0 is 1 bit/s here, the least there is");
                Ok(())
            }
            None if text.is_empty() => {
                let expected = format!("one: CC_MODE {} needs it", self.config.cc_mode);
                Err(self.wrong("CC_MODE", format!("no {of}"), &expected))
            }
            None => Err(self.wrong(of, format!("`{of} {text}`"), "a rate such as `50Mb/s`")),
        }
    }
}
