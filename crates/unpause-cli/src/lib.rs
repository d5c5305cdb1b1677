//! Placeholder until the crate is written.
/// tmp
pub fn main(_args: impl IntoIterator<Item = std::ffi::OsString>) -> u8 { 0 }
