//! Thresholds of ECN markings from base RTTs: the rules of the ECN# paper (Zhang, Bai, Chen, IEEE TCC
//! 2022, sections 2 and 3).

use unpause_protocols::units::{Rate, Time};

use super::rtts::Rtts;

/// Where base RTTs and the link are known.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Base RTTs.
    pub rtts: Rtts,
    /// C: rate of the link behind the queue.
    pub rate: Rate,
    /// Which share of C x RTT a queue must hold for full throughput.
    pub lambda: f64,
}

/// One parameter of a marking.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The scheme.
    pub scheme: &'static str,
    /// Value of `marking` in a scenario.
    pub marking: &'static str,
    /// Key of its table.
    pub key: &'static str,
    /// As a scenario has it.
    pub value: String,
    /// Where it comes from.
    pub formula: String,
}

impl Setting {
    fn times_lambda(&self, rtt: Time) -> Time {
        Time::from_ns((rtt.as_ns_f64() * self.lambda).round() as u64)
    }

    /// lambda x C x RTT, bytes.
    fn bytes(&self, rtt: Time) -> u64 {
        let bits = self.rate.as_bps() as f64 * rtt.as_secs_f64() * self.lambda;
        (bits / 8.0).round() as u64
    }

    /// Every parameter, scheme by scheme.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Self { rtts, rate, lambda } = self;
        let (average, tail) = (rtts.average(), rtts.percentile(90.0));
        let (worst_percentile, worst) = rtts.worst();
        let worst_name = match worst_percentile {
            100.0 => "worst RTT".to_owned(),
            percentile => format!("{percentile}th percentile, the highest known"),
        };
        let queue =
            |name: &str, rtt: Time| format!("lambda x C x {name} = {lambda} x {rate} x {rtt} / 8");
        let wait = |name: &str, rtt: Time| format!("lambda x {name} = {lambda} x {rtt}");
        let size = |rtt: Time| format!("{}B", self.bytes(rtt));
        let time = |rtt: Time| self.times_lambda(rtt).to_string();
        let of = |scheme, marking| {
            move |key, value, formula| Parameter {
                scheme,
                marking,
                key,
                value,
                formula,
            }
        };
        let (red_average, red_tail) = (of("RED-AVG", "dctcp-red"), of("RED-Tail", "dctcp-red"));
        let (codel, tcn, sharp) = (
            of("CoDel", "codel"),
            of("TCN", "tcn"),
            of("ECN#", "ecn-sharp"),
        );
        let (average_name, tail_name) = ("average RTT", "90th percentile");
        let least = format!("at least {}", wait(average_name, average));
        let as_sharp = format!("as pst_target of ECN#: {least}");
        let seen = format!("one {worst_name}, as pst_interval of ECN#");
        let reacts = format!("one {worst_name}: the time that TCP needs to react");
        vec![
            red_average("threshold", size(average), queue(average_name, average)),
            red_tail("threshold", size(tail), queue(tail_name, tail)),
            codel("target", time(average), as_sharp),
            codel("interval", worst.to_string(), seen),
            tcn("threshold", time(tail), wait(tail_name, tail)),
            sharp("ins_target", time(tail), wait(tail_name, tail)),
            sharp("pst_target", time(average), least),
            sharp("pst_interval", worst.to_string(), reacts),
        ]
    }

    /// The text for the terminal.
    pub fn text(&self) -> String {
        let rtts = &self.rtts;
        let (percentile, worst) = rtts.worst();
        let mut text = format!(
            "base RTT: average {}, 90th percentile {}, {} {worst}\nlink: {}; lambda: {}\n\n",
            rtts.average(),
            rtts.percentile(90.0),
            match percentile {
                100.0 => "worst".to_owned(),
                percentile => format!("{percentile}th percentile"),
            },
            self.rate,
            self.lambda,
        );
        let mut last = "";
        for parameter in self.parameters() {
            let scheme = if parameter.scheme == last {
                ""
            } else {
                parameter.scheme
            };
            last = parameter.scheme;
            text += &format!(
                "{scheme:9} {:13} {:>10}   {}\n",
                parameter.key, parameter.value, parameter.formula
            );
        }
        text += "\n\
            lambda is 1 for TCP that halves its window, 0.17 in theory for DCTCP; the ECN# paper's own\n\
            thresholds are those of 1. pst_target: any small value works in theory, a larger one where\n\
            the queue oscillates (offload, many flows); the paper's simulations have 10us. pst_interval\n\
            and CoDel's interval: smaller for very bursty traffic.\n";
        text
    }
}
