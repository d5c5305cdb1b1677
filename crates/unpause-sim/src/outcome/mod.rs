//! The output of a run: results, causes of PAUSEs, losses, storms, series, and FCTs in closed form.

pub mod causes;
pub mod deadlock;
pub mod delays;
pub mod held_back;
pub mod ideal;
pub mod losses;
pub mod results;
pub mod series;
pub mod storms;
