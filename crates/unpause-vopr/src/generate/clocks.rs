//! Clocks that differ. It draws from dice of its own, so that all other seeds stay the same.

use super::sketch::Sketch;
use crate::case::{put, table};
use crate::dice::Dice;

/// Lets the clocks of ports differ, in one scenario of ten, by as much as a scenario may say.
pub fn clocks(sketch: &mut Sketch, dice: &mut Dice) {
    if dice.percent(10) {
        let tolerance = format!("{}ppm", dice.scale(1, 1000));
        put(
            table(&mut sketch.document, "host"),
            "clock_tolerance",
            tolerance,
        );
    }
}
