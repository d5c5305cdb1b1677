//! Quantities: what is accepted, written again, is read as the same.

use std::fmt::Debug;

use unpause_scenario::quantity::{
    QuantityError, parse_duration, parse_rate, parse_ratio, parse_size,
};

/// Numbers below it have at most 15 digits, which a floating-point number keeps: they are written for
/// people exactly.
const EXACT: u64 = 1_000_000_000_000_000;

/// Reads a text as a quantity of every kind.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let texts = |number: u64, unit: &str, shown: String| {
        if number < EXACT {
            vec![format!("{number}{unit}"), shown]
        } else {
            vec![format!("{number}{unit}")]
        }
    };
    same(text, parse_duration, |time| {
        texts(time.as_ps(), "ps", time.to_string())
    });
    same(text, parse_rate, |rate| {
        texts(rate.as_bps(), "bps", rate.to_string())
    });
    same(text, parse_size, |bytes| vec![format!("{bytes}B")]);
    same(text, parse_ratio, |ratio| {
        assert!(ratio.den > 0);
        let part = ratio.as_f64();
        assert!(part >= 0.0 && part.is_finite(), "{part}");
        vec![format!("{}/{}", ratio.num, ratio.den)]
    });
}

fn same<T: Debug + PartialEq>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, QuantityError>,
    write: impl Fn(&T) -> Vec<String>,
) {
    match parse(text) {
        Ok(value) => {
            for again in write(&value) {
                assert_eq!(parse(&again).as_ref(), Ok(&value), "{text:?} as {again:?}");
            }
        }
        Err(error) => {
            let said = format!("{error}; {}", error.help);
            assert!(said.starts_with('`') && !error.help.is_empty(), "{said}");
            assert!(
                said.len() <= crate::messages::MESSAGE_BYTES,
                "{} bytes",
                said.len()
            );
        }
    }
}
