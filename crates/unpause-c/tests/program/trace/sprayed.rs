//! Spraying and NSCC in the trace of `tests/trace.c`.

use unpause_protocols::congestion_control::nscc::{Ack, Nack, Nscc, Params};
use unpause_protocols::spraying::{Config, Echo, Spraying};
use unpause_protocols::units::Time;

use super::{Run, generator};

pub fn all() -> Vec<String> {
    vec![
        spraying("none", &Config::None),
        spraying("oblivious", &Config::Oblivious(Default::default())),
        spraying("bitmap", &Config::Bitmap(Default::default())),
        spraying("reps", &Config::Reps(Default::default())),
        nscc(),
    ]
}

fn spraying(name: &str, config: &Config) -> String {
    let mut run = Run::new();
    let rng = &mut generator(7);
    let mut flow = Spraying::new(config);
    let (mut now, mut sum) = (Time::ZERO, 0_u32);
    for _ in 0..20_000 {
        now += Time::from_ps(run.draw() % 3_000_000);
        let value = flow.next(now, rng);
        run.note(value.into());
        sum += u32::from(value);
        let echo = if run.one_in(2000) {
            Echo::Timeout
        } else {
            [Echo::Clear, Echo::Marked, Echo::Lost][(run.draw() % 3) as usize]
        };
        let other = if run.one_in(4) {
            (run.draw() % 64) as u16
        } else {
            value
        };
        flow.on_echo(now, other, echo);
    }
    format!("spraying {name}: {sum}, {:016x}", run.hash)
}

fn nscc() -> String {
    let mut run = Run::new();
    let mut flow = Nscc::new(&Params::default(), Time::from_us(12));
    let mut now = Time::ZERO;
    for _ in 0..20_000 {
        now += Time::from_ps(run.draw() % 1_000_000);
        let rtt =
            (!run.one_in(8)).then(|| Time::from_us(12) + Time::from_ps(run.draw() % 20_000_000));
        match run.draw() % 64 {
            0..60 => {
                let (bytes, in_flight) = (run.draw() % 16_384, run.draw() % 200_000);
                let penalty = run.one_in(16).then(|| (run.draw() % 256) as u8);
                flow.on_ack(&Ack {
                    now,
                    bytes,
                    marked: run.one_in(4),
                    rtt,
                    penalty,
                    in_flight,
                });
            }
            60..63 => {
                let in_flight = run.draw() % 200_000;
                flow.on_nack(&Nack {
                    now,
                    bytes: 4150,
                    rtt,
                    credited: run.one_in(2),
                    in_flight,
                });
            }
            _ => flow.on_timeout(4150),
        }
        run.note(flow.window());
        run.note(flow.base_rtt().as_ps());
        run.note(flow.average_delay().as_ps());
    }
    format!("nscc: {} bytes, {:016x}", flow.window(), run.hash)
}
