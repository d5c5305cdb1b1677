//! What a run comes to: results, what is known of each PAUSE, losses, storms, series, and FCTs in closed form.

pub mod causes;
pub mod deadlock;
pub mod held_back;
pub mod ideal;
pub mod losses;
pub mod results;
pub mod series;
pub mod storms;
