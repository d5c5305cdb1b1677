//! `config.txt` of HPCC's simulator (`scratch/third.cc`): what it says, and a scenario that does the same.
//!
//! Its reader takes words one after the other: a key takes the words that follow it, whatever is no key is
//! passed over, and of a key that comes twice the last one counts.

mod buffer;
mod ending;
mod find;
mod forks;
mod laws;
mod of_forks;
mod parse;
mod rates;
mod scenario;
mod thresholds;
mod words;
mod writer;

pub use scenario::{Imported, Wish, import};
