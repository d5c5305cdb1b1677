//! How the project's own source stands: which file needs which, and how long files and functions are.
//!
//! `tests/tidy.rs` holds the rules; `exceptions.txt` says where they do not hold yet.

mod functions;
mod imports;
mod source;

pub use functions::{Function, functions};
pub use imports::{Needs, circle, needs, rooms};
pub use source::{Source, crates, root};
