//! Checks that several sections make.

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::PRIORITIES;
use unpause_sim::traffic::Transport;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

/// Two keys that exclude each other.
pub(crate) fn both<T, A, B>(
    first: &str,
    first_value: &Spanned<A>,
    second: &str,
    second_value: &Spanned<B>,
) -> Checked<T> {
    Problem::new(format!("both `{first}` and `{second}` are set"))
        .at(first_value.span(), "this one")
        .at(second_value.span(), "or that one")
        .help("remove one of them")
        .err()
}

/// A time above zero.
pub(crate) fn positive(key: &str, value: &Spanned<Duration>) -> Checked<Time> {
    if value.get_ref().0 == Time::ZERO {
        return Problem::new(format!("`{key}` is zero"))
            .at(value.span(), "must be above zero")
            .err();
    }
    Ok(value.get_ref().0)
}

/// A priority from 0 to 7.
pub(crate) fn data_priority(value: &Spanned<u8>) -> Checked<u8> {
    if usize::from(*value.get_ref()) >= PRIORITIES {
        return Problem::new(format!("there is no priority {}", value.get_ref()))
            .at(value.span(), "priorities are 0 to 7")
            .err();
    }
    Ok(*value.get_ref())
}

/// Bytes of a flow; none only over TCP.
pub(crate) fn size_bytes(size: &Spanned<Size>, transport: Transport) -> Checked<u64> {
    if size.get_ref().0 == 0 && transport != Transport::Tcp {
        return Problem::new("a flow without bytes")
            .at(size.span(), "at least 1B, except over TCP")
            .err();
    }
    Ok(size.get_ref().0)
}

/// A number above zero; `why` not zero.
pub(crate) fn at_least_one(key: &str, value: &Spanned<u32>, why: &str) -> Checked<u32> {
    match *value.get_ref() {
        0 => Problem::new(format!("`{key}` is zero"))
            .at(value.span(), why)
            .err(),
        number => Ok(number),
    }
}
