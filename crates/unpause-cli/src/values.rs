//! Values that can be typed, checked.

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::quantity::{parse_duration, parse_rate};
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

pub fn share_above_zero(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0, up to 1".into())
}

pub fn duration(text: &str) -> Result<Time, String> {
    let duration = parse_duration(text).map_err(|error| format!("{error}; {}", error.help))?;
    if duration == Time::ZERO {
        return Err("must be longer than nothing".into());
    }
    Ok(duration)
}
