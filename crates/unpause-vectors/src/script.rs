//! Cases: what a mechanism is told from its start, and what it answers.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value};
use unpause_protocols::by_name::Config;
use unpause_protocols::units::Rate;

use crate::event::{Answer, Create, Event};
use crate::machine::{Machine, Side};
use crate::named::every_of;

/// Rate of the link in all cases.
pub const LINE_RATE_BPS: u64 = 40_000_000_000;
/// Payload of a full packet in all cases.
pub const PACKET_BYTES: u32 = 1000;
/// The seed of the random numbers that mechanisms draw.
const SEED: u64 = 1;

/// Instants at which cases begin, and what is special about them.
pub const BEGINNINGS: [(&str, u64); 3] = [
    ("from 0", 0),
    (
        "while a clock of 2^32 ns wraps",
        (1 << 32) * 1_000 - 200_000_000,
    ),
    (
        "while a clock of 2^32 us wraps",
        (1 << 32) * 1_000_000 - 200_000_000,
    ),
];

/// An event and what the mechanism does.
#[derive(Clone, Debug)]
pub struct Line {
    /// The event.
    pub event: Event,
    /// The 32-bit numbers that the mechanism drew for it, uniform in 0 to 2^32 - 1, in order.
    pub draws: Vec<u32>,
    /// The answer.
    pub answer: Answer,
}

/// A mechanism from its start on.
#[derive(Clone, Debug)]
pub struct Case {
    /// The subject of the case.
    pub name: String,
    /// The mechanism.
    pub create: Create,
    /// The random numbers drawn at the start.
    pub draws: Vec<u32>,
    /// The answer at the start.
    pub answer: Answer,
    /// The events that follow.
    pub lines: Vec<Line>,
}

/// A case under construction: whoever writes it sees what the mechanism answers.
pub struct Script {
    machine: Machine,
    case: Case,
}

impl Script {
    /// A mechanism that has heard nothing yet.
    pub fn new(name: impl Into<String>, config: &Config, side: Side) -> Self {
        let rate = Rate::from_bps(LINE_RATE_BPS);
        let mut machine = Machine::new(config, side, rate, PACKET_BYTES, SEED);
        let is_law = matches!(config, Config::CongestionControl(_));
        let has_rate = is_law || matches!(config, Config::FlowControl(_));
        let create = Create {
            kind: kind_of(config).name(),
            side: match side {
                Side::Only => None,
                Side::Ingress => Some("ingress"),
                Side::Egress => Some("egress"),
            },
            mechanism: name_of(config),
            parameters: parameters(config),
            line_rate_bps: has_rate.then_some(LINE_RATE_BPS),
            packet_bytes: is_law.then_some(PACKET_BYTES),
        };
        let case = Case {
            name: name.into(),
            create,
            draws: machine.draws.take(),
            answer: machine.at_first(),
            lines: Vec::new(),
        };
        Self { machine, case }
    }

    /// Tells the mechanism what happened.
    pub fn tell(&mut self, event: Event) -> &Answer {
        let answer = self.machine.tell(&event);
        self.case.lines.push(Line {
            event,
            draws: self.machine.draws.take(),
            answer,
        });
        self.answer()
    }

    /// The last answer of the mechanism.
    pub fn answer(&self) -> &Answer {
        let last = self.case.lines.last();
        last.map_or(&self.case.answer, |line| &line.answer)
    }

    /// When its timer is due.
    pub fn timer_ps(&self) -> Option<u64> {
        self.answer().timer_ps()
    }

    /// Lets every timer run out that is due at `now_ps` or before, each at its time, at most `most` of them.
    pub fn run_timers(&mut self, now_ps: u64, most: usize) {
        for _ in 0..most {
            let Some(due) = self.timer_ps().filter(|due| *due <= now_ps) else {
                return;
            };
            self.tell(Event::Timer { now_ps: due });
        }
    }

    /// The case, if anything happens in it.
    pub fn end(self, cases: &mut Vec<Case>) {
        if !self.case.lines.is_empty() {
            cases.push(self.case);
        }
    }
}

/// Numbers for random cases: always the same.
pub fn chance() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(2020)
}

/// The value of a parameter that is set, if its unit is one of `units`.
pub fn value(config: &Config, name: &str, units: &[&str]) -> Option<u64> {
    let mut config = config.clone();
    let found = config.parameter(
        |config| config.to_str() == Ok(name),
        |it| {
            let unit = it.unit.to_str().unwrap_or_default();
            it.value.filter(|_| units.contains(&unit))
        },
    );
    found.flatten()
}

/// Of which kind a configuration is.
pub fn kind_of(config: &Config) -> unpause_protocols::by_name::Kind {
    use unpause_protocols::by_name::Kind;
    match config {
        Config::CongestionPoint(_) => Kind::CongestionPoint,
        Config::NotificationPoint(_) => Kind::NotificationPoint,
        Config::CongestionControl(_) => Kind::CongestionControl,
        Config::FlowControl(_) => Kind::FlowControl,
        Config::Spraying(_) => Kind::Spraying,
        Config::SprayedWindow(_) => Kind::SprayedWindow,
    }
}

fn name_of(config: &Config) -> String {
    let same = |it: &Config| match (it, config) {
        (Config::CongestionPoint(a), Config::CongestionPoint(b)) => is_like(a, b),
        (Config::NotificationPoint(a), Config::NotificationPoint(b)) => is_like(a, b),
        (Config::CongestionControl(a), Config::CongestionControl(b)) => is_like(a, b),
        (Config::FlowControl(_), Config::FlowControl(_)) => true,
        (Config::Spraying(a), Config::Spraying(b)) => is_like(a, b),
        (Config::SprayedWindow(_), Config::SprayedWindow(_)) => true,
        _ => false,
    };
    let every = every_of(kind_of(config));
    let found = every.into_iter().find(|(_, it)| same(it));
    found.map_or_else(String::new, |(name, _)| name.to_owned())
}

fn is_like<T>(a: &T, b: &T) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Every parameter that is set; choices by name.
pub fn parameters(config: &Config) -> Map<String, Value> {
    let mut found = Map::new();
    config.clone().visit(&mut |it| {
        let Some(value) = it.value else { return };
        let choice = usize::try_from(value)
            .ok()
            .and_then(|at| it.choices.get(at));
        let value = choice.map_or(Value::from(value), |name| Value::from(text(name)));
        found.insert(text(it.name).to_owned(), value);
    });
    found
}

fn text(name: &'static std::ffi::CStr) -> &'static str {
    name.to_str().unwrap_or_default()
}
