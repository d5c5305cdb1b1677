//! From a scheme's congestion point to a program's text and what the control plane writes into it.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unpause_protocols::congestion_point::dctcp_red::Threshold;
use unpause_protocols::congestion_point::np_ecn::MarkBasis;
use unpause_protocols::congestion_point::tofino::{Divider, Load, Params, TICK};
use unpause_protocols::congestion_point::{Config, dctcp_red, np_ecn};
use unpause_protocols::units::Time;
use unpause_scenario::{Error, Run};

use super::mistake::wrong;

/// Which markings have a program.
pub const MARKINGS: &str =
    "programs: marking = \"ecn-sharp-tofino\", \"np-ecn\" (also of \"pcn\"), \"dctcp-red\"";

/// Registers of a program, one a port and priority.
pub const PORTS: usize = 128;

/// Bits of a waiting time in ticks: 32 of nanoseconds, of which a tick takes ten.
const WAIT_BITS: u32 = 22;
/// The longest span whose sign is told from that of its opposite, in ticks.
const LONGEST_TICKS: u64 = i32::MAX as u64;

/// A setting that the switch program cannot express.
#[derive(Debug)]
pub struct Refusal {
    what: String,
    help: &'static str,
}

impl Refusal {
    /// Where it stands.
    pub fn at(self, file: &impl Display, scheme: &str) -> Error {
        let Self { what, help } = self;
        wrong(format!("{file}: scheme `{scheme}`: {what}"), help)
    }
}

/// A program with its parameters.
#[derive(Clone, Debug)]
pub enum Program {
    /// ECN# with a switch's arithmetic.
    EcnSharp(EcnSharp),
    /// PCN's congestion point.
    NpEcn(np_ecn::Params),
    /// DCTCP's marking.
    DctcpRed(dctcp_red::Params),
}

/// Parameters of ECN#, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnSharp {
    ins_target: u32,
    pst_target: u32,
    pst_interval: u32,
}

impl EcnSharp {
    fn of(params: &Params) -> Result<Self, Refusal> {
        let longest_wait = (1 << WAIT_BITS) - 1;
        let wait = "a waiting time has 22 bits of ticks of 1.024 us";
        let span = "spans of the clock have 31 bits of ticks of 1.024 us";
        Ok(Self {
            ins_target: ticks(
                "ins_target",
                params.ins_target,
                params.load,
                longest_wait,
                wait,
            )?,
            pst_target: ticks(
                "pst_target",
                params.pst_target,
                params.load,
                longest_wait,
                wait,
            )?,
            pst_interval: ticks(
                "pst_interval",
                params.pst_interval,
                params.load,
                LONGEST_TICKS,
                span,
            )?,
        })
    }

    fn divider(self) -> Divider {
        Divider::new(self.pst_interval)
    }
}

/// A time as the switch holds it, if it can.
fn ticks(name: &str, time: Time, load: Load, most: u64, why: &str) -> Result<u32, Refusal> {
    let tick = match load {
        Load::Scaled => TICK,
        Load::Unscaled => Time::from_us(1),
    };
    let ticks = (time.as_ps() + tick.as_ps() / 2) / tick.as_ps();
    let refuse = |what: String| Refusal {
        what: format!("{name} is {time}; {what}"),
        help: "times are in multiples of a tick, to the nearest",
    };
    if ticks > most {
        let limit = Time::from_ps(tick.as_ps().saturating_mul(most));
        return Err(refuse(format!("{why}, so at most {most} ticks, {limit}")));
    }
    if ticks == 0 {
        return Err(refuse(format!(
            "the clock ticks in {tick}, so at least half of that"
        )));
    }
    Ok(ticks as u32)
}

impl Program {
    /// Whether some program is this congestion point.
    pub fn has(point: &Config) -> bool {
        matches!(
            point,
            Config::Tofino(_) | Config::NpEcn(_) | Config::DctcpRed(_)
        )
    }

    /// The program of a run's scheme.
    pub fn of(run: &Run) -> Result<Self, Refusal> {
        match &run.config.scheme.congestion_point {
            Config::Tofino(params) => EcnSharp::of(params).map(Self::EcnSharp),
            Config::NpEcn(params) if params.mark_above > 0 => Err(Refusal {
                what: format!(
                    "mark_above is {} B; the program compares with an empty queue",
                    params.mark_above
                ),
                help: "remove `mark_above`: the threshold of PCN's paper is zero",
            }),
            Config::NpEcn(params) => Ok(Self::NpEcn(*params)),
            Config::DctcpRed(params) => {
                if let Threshold::Bytes(bytes) = params.threshold
                    && bytes > u64::from(u32::MAX)
                {
                    return Err(Refusal {
                        what: format!(
                            "threshold is {bytes} B; a queue length has 32 bits, so at most {} B",
                            u32::MAX
                        ),
                        help: "",
                    });
                }
                Ok(Self::DctcpRed(*params))
            }
            Config::EcnSharp(_) => Err(Refusal {
                what: "its marking takes square roots or divides exactly, which switches cannot"
                    .into(),
                help: "marking = \"ecn-sharp-tofino\" is ECN# with a switch's arithmetic",
            }),
            _ => Err(Refusal {
                what: "its marking is not a program".into(),
                help: MARKINGS,
            }),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::EcnSharp(_) => "ecn-sharp",
            Self::NpEcn(_) => "np-ecn",
            Self::DctcpRed(_) => "dctcp-red",
        }
    }

    /// Its text.
    fn text(&self) -> &'static str {
        macro_rules! program {
            ($name:literal) => {
                include_str!(concat!("../../../../dataplane/programs/", $name, ".spec"))
            };
        }
        match self {
            Self::EcnSharp(_) => program!("ecn-sharp"),
            Self::NpEcn(_) => program!("np-ecn"),
            Self::DctcpRed(_) => program!("dctcp-red"),
        }
    }

    /// Action of table `parameters` with its arguments.
    fn parameters(&self) -> String {
        match self {
            Self::EcnSharp(it) => {
                // 3 + e: the table is of divisors from 8 on, and of multiples of 2^e.
                let (_, scale) = it.divider().approximate(8);
                format!(
                    "watch ins_target {} pst_target {} pst_interval {} scale_left {} scale_right {}",
                    it.ins_target,
                    it.pst_target,
                    it.pst_interval,
                    (3 + scale).max(0),
                    (-3 - scale).max(0),
                )
            }
            Self::NpEcn(params) => match params.mark_basis {
                MarkBasis::DequeueAfter => "backlog_left".into(),
                MarkBasis::EnqueueBefore => "backlog_found".into(),
            },
            Self::DctcpRed(params) => match params.threshold {
                Threshold::Bytes(bytes) => format!("compare_bytes threshold {bytes}"),
                Threshold::Packets(packets) => format!("compare_packets threshold {packets}"),
            },
        }
    }

    /// The table entries that the control plane writes, a line each.
    fn entries(&self, control_priority: u8) -> String {
        let mut lines = String::new();
        let mut line = |text: &str| lines += &format!("{text}\n");
        if let Self::EcnSharp(it) = self {
            line("# T[m] of Algorithm 3");
            for top in 8..16 {
                let (multiple, _) = it.divider().approximate(top);
                line(&format!("register division {top} {multiple}"));
            }
        }
        line("# priorities with a congestion point");
        for priority in (0..8).filter(|it| *it != control_priority) {
            let action = self.parameters();
            line(&format!(
                "table parameters match {priority} action {action}"
            ));
        }
        let of_states: &[&str] = match self {
            Self::EcnSharp(_) => &[
                "persistence match 0 action deadline_clear",
                "persistence match 1 action deadline_test",
                "conservative match 0 action episode_end",
                "conservative match 1 action episode_mark",
            ],
            Self::NpEcn(_) => &[
                "transmission match 1 action pause",
                "transmission match 2 action resume",
                "non_pause match 0 0 action spare_held",
                "non_pause match 2 1 action count_held",
            ],
            Self::DctcpRed(_) => &[],
        };
        for entry in of_states {
            line(&format!("table {entry}"));
        }
        line("# ECT(1) and ECT(0) may be marked");
        line("table ecn match 1 1 action mark_ce");
        line("table ecn match 1 2 action mark_ce");
        lines
    }

    /// The manifest: the parts of the program, and the representation of its parameters.
    fn manifest(&self, file: &Path, run: &Run) -> Value {
        let parameters = match self {
            Self::EcnSharp(it) => {
                let held = |ticks: u32| json!({ "ticks": ticks, "ns": (TICK * u64::from(ticks)).as_ps() / 1000 });
                json!({
                    "ins_target": held(it.ins_target),
                    "pst_target": held(it.pst_target),
                    "pst_interval": held(it.pst_interval),
                })
            }
            Self::NpEcn(params) => json!({ "mark_basis": match params.mark_basis {
                MarkBasis::DequeueAfter => "dequeue-after",
                MarkBasis::EnqueueBefore => "enqueue-before",
            } }),
            Self::DctcpRed(params) => match params.threshold {
                Threshold::Bytes(bytes) => json!({ "threshold_bytes": bytes }),
                Threshold::Packets(packets) => json!({ "threshold_packets": packets }),
            },
        };
        json!({
            "unpause": env!("CARGO_PKG_VERSION"),
            "scenario": file.display().to_string(),
            "scheme": run.scheme,
            "program": self.name(),
            "parameters": parameters,
            "ports": PORTS,
            "unmarked_priority": run.config.host.control_priority,
            "files": [format!("{}.spec", self.name()), "entries.txt"],
        })
    }

    /// Writes program, entries and manifest into a directory; answers their paths.
    pub fn write(&self, file: &Path, run: &Run, out: &Path) -> Result<Vec<PathBuf>, Error> {
        let manifest = format!("{:#}\n", self.manifest(file, run));
        let files = [
            (format!("{}.spec", self.name()), self.text().to_owned()),
            (
                "entries.txt".into(),
                self.entries(run.config.host.control_priority),
            ),
            ("manifest.json".into(), manifest),
        ];
        fs::create_dir_all(out).map_err(|error| Error::io("write", out, error))?;
        let mut paths = Vec::new();
        for (name, text) in files {
            let path = out.join(name);
            fs::write(&path, text).map_err(|error| Error::io("write", &path, error))?;
            paths.push(path);
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(ins_target: Time, pst_target: Time, pst_interval: Time) -> Params {
        Params {
            ins_target,
            pst_target,
            pst_interval,
            load: Load::Scaled,
        }
    }

    fn refused(params: &Params) -> String {
        EcnSharp::of(params).expect_err("is refused").what
    }

    #[test]
    fn what_registers_cannot_hold_is_refused_with_the_limit() {
        let us = Time::from_us;
        assert!(EcnSharp::of(&params(us(200), us(85), us(200))).is_ok());
        let most = TICK * ((1 << 22) - 1);
        assert!(EcnSharp::of(&params(most, us(85), us(200))).is_ok());
        assert_eq!(
            refused(&params(most + TICK, us(85), us(200))),
            "ins_target is 4.294967296s; a waiting time has 22 bits of ticks of 1.024 us, so at most \
             4194303 ticks, 4.294966272s"
        );
        assert!(refused(&params(us(200), most + TICK, us(200))).starts_with("pst_target is"));
        assert!(EcnSharp::of(&params(us(200), us(85), TICK * LONGEST_TICKS)).is_ok());
        assert_eq!(
            refused(&params(us(200), us(85), TICK * (LONGEST_TICKS + 1))),
            "pst_interval is 2199.023255552s; spans of the clock have 31 bits of ticks of 1.024 us, so at \
             most 2147483647 ticks, 2199.023254528s"
        );
        assert_eq!(
            refused(&params(us(200), us(85), Time::from_ns(511))),
            "pst_interval is 511ns; the clock ticks in 1.024us, so at least half of that"
        );
    }

    /// The program's own arithmetic: three shifts of 32 bits of `T[m]`.
    #[test]
    fn the_shifts_of_the_program_are_the_division_of_the_state_machine() {
        let intervals = (1..2100).chain([4_000, 65_535, 1 << 20, (1 << 20) + 1, i32::MAX as u32]);
        for pst_interval in intervals {
            let it = EcnSharp {
                ins_target: 1,
                pst_target: 1,
                pst_interval,
            };
            let divider = it.divider();
            let (_, scale) = divider.approximate(8);
            let (left, right) = ((3 + scale).max(0) as u32, (-3 - scale).max(0) as u32);
            for count in (1_u32..600).chain([4_095, 4_096, 65_537, 1 << 29, u32::MAX]) {
                let log = count.ilog2();
                let top = (u64::from(count) << 3 >> log) as u32;
                let (multiple, _) = divider.approximate(top);
                let step = (u32::from(multiple) << left) >> right >> log;
                assert_eq!(step, divider.quotient(count), "{pst_interval} / {count}");
            }
        }
    }

    #[test]
    fn entries_are_what_the_programs_read() {
        let of = |program: Program| program.entries(7);
        let ecn_sharp = EcnSharp::of(&Params::default()).expect("the defaults fit");
        insta::assert_snapshot!(of(Program::EcnSharp(ecn_sharp)));
        insta::assert_snapshot!(of(Program::NpEcn(np_ecn::Params::default())));
        insta::assert_snapshot!(of(Program::DctcpRed(dctcp_red::Params::average())));
    }
}
