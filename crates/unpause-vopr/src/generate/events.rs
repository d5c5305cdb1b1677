//! `[[event]]` and `[routing]`: links that fail and return.

use toml::Table;

use super::sketch::Sketch;
use crate::case::{push, put, table, time};
use crate::dice::Dice;

/// In one scenario of ten, lets one to three links fail, most of which return. `dice` are its own, so that all else stays
/// what it was.
pub fn events(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(10) || sketch.ports.is_empty() || sketch.document.contains_key("slow_receiver")
    {
        return;
    }
    // A sweep may end the run after half of it.
    let most = (sketch.duration / 2).max(2);
    for _ in 0..dice.between(1, 3) {
        let ports = sketch.ports.len() as u64;
        let (from, to) = sketch.ports[dice.below(ports) as usize].clone();
        let (key, name) = match dice.below(10) {
            0 => ("node", from),
            1..3 => ("link", format!("{from}->{to}")),
            _ => ("link", format!("{from}-{to}")),
        };
        let event = |kind: &str, at: u64| {
            let mut event = Table::new();
            put(&mut event, "at", time(at));
            put(&mut event, "kind", kind);
            put(&mut event, key, name.clone());
            event
        };
        let at = dice.below(most - 1);
        let mut down = event("down", at);
        let returns = dice.percent(75).then(|| dice.between(at + 1, most - 1));
        if let Some(back) = returns {
            let mut up = event("up", back);
            if dice.percent(25) {
                let every = (back - at) * 2 + most / dice.between(5, 30);
                for flap in [&mut down, &mut up] {
                    put(flap, "every", time(every));
                    if every < most {
                        put(flap, "until", time(most));
                    }
                }
            }
            push(&mut sketch.document, "event", up);
        }
        push(&mut sketch.document, "event", down);
    }
    let routing = table(&mut sketch.document, "routing");
    let detection = dice.scale(1, most);
    put(routing, "detection", time(dice.below(detection)));
    if dice.percent(30) {
        put(routing, "convergence", time(dice.scale(1, most)));
    }
}
