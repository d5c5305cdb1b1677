//! Values that can be typed, checked.

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::quantity::{parse_duration, parse_rate, parse_size};
use unpause_sim::config::check_rate;

pub fn dask_address(text: &str) -> Result<String, String> {
    let address = text.split_once("://").map_or(text, |(_, address)| address);
    let port = address
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse::<u16>().ok());
    match port {
        Some(_) => Ok(text.to_owned()),
        None => Err(
            "it has no port; `dask scheduler` prints an address such as tcp://192.168.0.1:8786"
                .into(),
        ),
    }
}

pub fn rate(text: &str) -> Result<Rate, String> {
    let rate = parse_rate(text).map_err(|error| format!("{error}; {}", error.help))?;
    check_rate(rate)?;
    Ok(rate)
}

/// `name=value`
pub fn assignment(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let parts = parts.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    parts.ok_or_else(|| "expected NAME=VALUE".into())
}

pub fn tolerance(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share: &f64| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0, below 1".into())
}

pub fn share_above_zero(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0, up to 1".into())
}

pub fn duration(text: &str) -> Result<Time, String> {
    let duration = parse_duration(text).map_err(|error| format!("{error}; {}", error.help))?;
    if duration == Time::ZERO {
        return Err("must be above zero".into());
    }
    Ok(duration)
}

/// Bytes: a plain number, or a size with its unit.
pub fn bytes(text: &str) -> Result<u64, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let with_unit = if plain {
        format!("{text}B")
    } else {
        text.to_owned()
    };
    let bytes = parse_size(&with_unit).map_err(|error| format!("{error}; {}", error.help))?;
    if bytes > MOST_BYTES {
        Err("more than 1 TB".into())
    } else {
        Ok(bytes)
    }
}

/// More than any buffer or frame has.
const MOST_BYTES: u64 = 1_000_000_000_000;

/// A whole number from 0 to 100, with or without its sign.
pub fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let number = number.filter(|number: &u8| *number <= 100);
    number.ok_or_else(|| "expected a whole number from 0 to 100".into())
}

/// The longest cable: 10,000 km.
const LONGEST: f64 = 1e7;

/// A length in metres.
pub fn metres(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let Ok(number) = number.parse::<f64>() else {
        return Err("expected a length such as 100m".into());
    };
    let metres = match unit {
        "m" => number,
        "km" => number * 1000.0,
        "" => return Err(format!("it has no unit; write {number}m for metres")),
        "ft" | "feet" | "foot" | "'" => {
            let metres = (number * 304.8).round() / 1000.0;
            return Err(format!(
                "lengths are in metres; write {metres}m for {number} feet"
            ));
        }
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of length; write m or km, such as 100m"
            ));
        }
    };
    if metres > LONGEST {
        Err(format!("longer than {} km", LONGEST / 1000.0))
    } else {
        Ok(metres)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_metric_unit() {
        assert_eq!(metres("100m"), Ok(100.0));
        assert_eq!(metres("0.5 m"), Ok(0.5));
        assert_eq!(metres("40km"), Ok(40_000.0));
        for (text, said) in [
            ("100", "it has no unit; write 100m"),
            ("100ft", "write 30.48m for 100 feet"),
            ("1 mile", "`mile` is not a unit"),
            ("m", "expected a length"),
            ("-5m", "expected a length"),
            ("1.2.3m", "expected a length"),
            ("20000km", "longer than 10000 km"),
        ] {
            let error = metres(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn bytes_need_no_unit_and_may_have_one() {
        assert_eq!(bytes("9216"), Ok(9216));
        assert_eq!(bytes("9KB"), Ok(9000));
        assert_eq!(bytes("1.5TB"), Err("more than 1 TB".into()));
        assert!(bytes("").is_err() && bytes("9bananas").is_err() && bytes("-1").is_err());
        assert_eq!((percent("50%"), percent("7")), (Ok(50), Ok(7)));
        assert!(percent("101").is_err() && percent("1.5").is_err());
    }
}
