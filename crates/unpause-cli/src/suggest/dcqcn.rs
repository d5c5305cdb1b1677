//! DCQCN's thresholds and steps by link rate: HPCC's simulator scales them; the DCQCN paper has those of 40 Gb/s, and
//! SONiC ships the same for every rate.

use unpause_protocols::units::{Rate, Time};

use super::comparison::{Comparison, DURATION};
use super::lines::{Line, table};

const HPCC: &str = "HPCC's run.py";
const PAPER: &str = "DCQCN paper";
const SONIC: &str = "SONiC's qos_config.j2";

/// A set of parameters.
struct Set {
    name: &'static str,
    source: &'static str,
    /// Key, value, formula.
    values: Vec<(&'static str, String, String)>,
}

/// `per_25` for each 25 Gb/s of `rate`.
fn scaled(per_25: u64, rate: Rate) -> u64 {
    let product = u128::from(per_25) * u128::from(rate.as_bps());
    u64::try_from(product / 25_000_000_000).unwrap_or(u64::MAX)
}

/// HPCC's for this rate, with the timers of its `dcqcn`.
fn by_rate(rate: Rate) -> Set {
    let bytes = |key, per_25: u64| {
        let value = format!("{}B", scaled(per_25, rate).max(1));
        (key, value, format!("{}KB x {rate} / 25Gbps", per_25 / 1000))
    };
    let step = |key, mbps: u64| {
        let step = scaled(mbps * 1_000_000, rate).max(1);
        let formula = format!("{mbps}Mbps x {rate} / 25Gbps");
        (key, Rate::from_bps(step).to_string(), formula)
    };
    let fixed = |key, value: &str, formula: &str| (key, value.to_owned(), formula.to_owned());
    Set {
        name: "by rate",
        source: HPCC,
        values: vec![
            bytes("kmin", 100_000),
            bytes("kmax", 400_000),
            fixed("pmax", "20%", "at any rate"),
            step("rate_ai", 5),
            step("rate_hai", 50),
            fixed(
                "clocks",
                "separate",
                "alpha, cuts and increases each have a timer, as in NICs",
            ),
            fixed("alpha_timer", "1us", "at any rate"),
            fixed("cut_interval", "4us", "at any rate"),
            fixed("increase_timer", "300us", "at any rate"),
            fixed("fr_threshold", "1", "at any rate"),
            fixed("clamp_target", "false", "at any rate"),
        ],
    }
}

/// The values that SONiC configures.
fn sonic() -> Set {
    let fixed = |key, value: &str| (key, value.to_owned(), "at any rate".to_owned());
    Set {
        name: "SONiC",
        source: SONIC,
        values: vec![
            fixed("kmin", "1048576B"),
            fixed("kmax", "2097152B"),
            fixed("pmax", "5%"),
        ],
    }
}

/// The defaults of a scenario.
fn paper() -> Set {
    let of_40 = |key, value: &str| {
        (
            key,
            value.to_owned(),
            "for 40 Gb/s; unpause's default".to_owned(),
        )
    };
    Set {
        name: "paper",
        source: PAPER,
        values: vec![
            of_40("kmin", "5KB"),
            of_40("kmax", "200KB"),
            of_40("pmax", "1%"),
            of_40("rate_ai", "40Mbps"),
        ],
    }
}

/// The text for the terminal.
pub fn text(rate: Rate) -> String {
    let lines: Vec<Line> = [by_rate(rate), paper(), sonic()]
        .into_iter()
        .flat_map(|set| {
            let line = move |(index, (key, value, formula)): (usize, (&str, String, String))| {
                let name = if index == 0 { set.name } else { "" };
                Line::new(&format!("{name:8} {key}"), value, formula, set.source)
            };
            set.values.into_iter().enumerate().map(line)
        })
        .collect();
    format!(
        "link: {rate}\n\n{}\n\
         In a scenario:\n\n{}\n\
         \"by rate\" is the suggestion; its source scales thresholds and steps with the rate of the link and of the NIC.\n\
         Marking must begin before PAUSE: with N senders, kmin must be below N x pfc.xoff. `unpause validate` warns if not.\n\
         Sources: simulation/run.py of alibaba-edu/High-Precision-Congestion-Control; Zhu et al., SIGCOMM 2015 (DCQCN);\n\
         files/build_templates/qos_config.j2 of sonic-net/sonic-buildimage.\n",
        table(&lines),
        section(by_rate(rate), false)
    )
}

/// `[scheme.dcqcn]` with these values, perhaps with the formula behind each.
fn section(set: Set, formulas: bool) -> String {
    let mut text = "[scheme.dcqcn]\n".to_owned();
    for (key, value, formula) in set.values {
        let value = if value.parse::<u32>().is_ok() || value == "false" {
            value
        } else {
            format!("\"{value}\"")
        };
        let comment = if formulas {
            format!(" # {formula}")
        } else {
            String::new()
        };
        text += &format!("{key} = {value}{comment}\n");
    }
    text
}

/// The three sets, each a scheme.
pub fn comparison(rate: Rate) -> Comparison {
    let scheme = |set: Set| {
        let head = format!(
            "[[scheme]]\nname = \"DCQCN {}\"\ncongestion_control = \"dcqcn\"\n",
            set.name
        );
        format!("{head}{}\n", section(set, true))
    };
    Comparison {
        command: "dcqcn",
        title: "DCQCN's parameters at my link rate",
        rate,
        delay: Time::from_us(1),
        frame: None,
        senders: 8,
        duration: DURATION,
        switches: String::new(),
        schemes: [paper(), by_rate(rate), sonic()].map(scheme).concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_protocols::congestion_control::dcqcn;
    use unpause_protocols::congestion_point::red;

    fn value(set: &Set, key: &str) -> String {
        let found = set.values.iter().find(|(name, ..)| *name == key);
        found.unwrap().1.clone()
    }

    /// `kmin_map`, `kmax_map`, `ai` and `hai` of its run.py for `--bw 100`, and its links four times as fast.
    #[test]
    fn thresholds_scale_as_hpccs_script_does() {
        let at_100 = by_rate(Rate::from_gbps(100));
        let of = |key| value(&at_100, key);
        assert_eq!(
            (of("kmin"), of("kmax")),
            ("400000B".into(), "1600000B".into())
        );
        assert_eq!(
            (of("rate_ai"), of("rate_hai")),
            ("20Mbps".into(), "200Mbps".into())
        );
        assert_eq!(value(&by_rate(Rate::from_gbps(400)), "kmin"), "1600000B");
    }

    #[test]
    fn the_papers_set_is_the_default() {
        let (cp, rp) = (red::Params::default(), dcqcn::Params::default());
        let of = |key| value(&paper(), key);
        assert_eq!(
            (of("kmin"), of("kmax")),
            (
                format!("{}KB", cp.kmin / 1000),
                format!("{}KB", cp.kmax / 1000)
            )
        );
        assert_eq!(of("rate_ai"), rp.rate_ai.to_string());
        assert_eq!(
            cp.pmax,
            unpause_protocols::units::Fraction::from_ppm(10_000)
        );
    }
}
