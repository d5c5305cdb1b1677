//! Base round-trip times: what an operator has measured without queues.

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::Error;
use unpause_scenario::quantity::parse_duration;

/// A distribution of base RTTs, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Rtts {
    /// Percentile, RTT; both grow.
    points: Vec<(f64, Time)>,
    average: Time,
}

/// An example of a list of percentiles.
pub const EXAMPLE: &str = "0:80us,50:120us,90:220us,100:240us";

impl Rtts {
    /// Of a text such as [`EXAMPLE`]; `average` if it is known from elsewhere.
    pub fn of_percentiles(text: &str, average: Option<Time>) -> Result<Self, Error> {
        let mut points = Vec::new();
        for pair in text.split(',') {
            let found = |what: String| wrong(format!("--rtt: found `{pair}`: {what}"));
            let Some((percentile, rtt)) = pair.split_once(':') else {
                return Err(found("expected a percentile and an RTT".into()));
            };
            let percentile = percentile.trim().parse().ok();
            let Some(percentile) = percentile.filter(|p: &f64| (0.0..=100.0).contains(p)) else {
                return Err(found("expected a percentile from 0 to 100".into()));
            };
            let rtt = parse_duration(rtt.trim()).map_err(|e| found(format!("{e}; {}", e.help)))?;
            points.push((percentile, rtt));
        }
        Self::of_points(points, average).map_err(|what| wrong(format!("--rtt: {what}")))
    }

    /// Of a file: an RTT a line (`82us`), or an RTT and its cumulative probability (`82us,0.15`), in
    /// order. `#` starts a comment; a line of column names may come first.
    pub fn of_file(path: &Path, average: Option<Time>) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
        let mut samples = Vec::new();
        let mut points = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("").trim();
            let names =
                samples.is_empty() && points.is_empty() && content.starts_with(char::is_alphabetic);
            if content.is_empty() || names {
                continue;
            }
            let found = |expected: String| {
                let place = format!("{}:{}", path.display(), number + 1);
                wrong(format!("{place}: found `{content}`, expected {expected}"))
            };
            let columns: Vec<&str> = content.split(',').map(str::trim).collect();
            let rtt =
                parse_duration(columns[0]).map_err(|_| found("an RTT such as 82us".into()))?;
            match columns[..] {
                [_] if points.is_empty() => samples.push(rtt),
                [_, probability] if samples.is_empty() => {
                    let probability = probability.parse().ok();
                    let probability = probability.filter(|p: &f64| (0.0..=1.0).contains(p));
                    let expected = "a cumulative probability from 0 to 1 after the RTT";
                    let probability = probability.ok_or_else(|| found(expected.into()))?;
                    points.push((probability * 100.0, rtt));
                }
                _ => {
                    let expected = "an RTT, or an RTT and a cumulative probability, on every line";
                    return Err(found(expected.into()));
                }
            }
        }
        let distribution = if samples.is_empty() {
            Self::of_points(points, average)
        } else {
            Self::of_samples(samples, average)
        };
        distribution.map_err(|what| wrong(format!("{}: {what}", path.display())))
    }

    fn of_samples(mut samples: Vec<Time>, average: Option<Time>) -> Result<Self, String> {
        samples.sort_unstable();
        let mean = samples.iter().map(|rtt| rtt.as_secs_f64()).sum::<f64>() / samples.len() as f64;
        let average = average.unwrap_or(seconds(mean));
        let last = samples.len() - 1;
        let percentile = |index: usize| match last {
            0 => 100.0,
            _ => index as f64 * 100.0 / last as f64,
        };
        let points = samples.iter().enumerate();
        let points = points
            .map(|(index, rtt)| (percentile(index), *rtt))
            .collect();
        Self::of_points(points, Some(average))
    }

    fn of_points(points: Vec<(f64, Time)>, average: Option<Time>) -> Result<Self, String> {
        let (Some(&(lowest, first)), Some(&(highest, last))) = (points.first(), points.last())
        else {
            return Err("there are no RTTs".into());
        };
        if first == Time::ZERO {
            return Err("an RTT of zero".into());
        }
        for pair in points.windows(2) {
            if pair[1].0 <= pair[0].0 || pair[1].1 < pair[0].1 {
                return Err(format!(
                    "percentile {} ({}) after percentile {} ({}): both must grow",
                    pair[1].0, pair[1].1, pair[0].0, pair[0].1
                ));
            }
        }
        if highest < 90.0 {
            return Err(format!(
                "the rules need the 90th percentile, the highest is {highest}"
            ));
        }
        let average = match average {
            Some(average) if (first..=last).contains(&average) => average,
            Some(average) => {
                return Err(format!(
                    "an average of {average} is not between {first} and {last}"
                ));
            }
            None if (lowest, highest) == (0.0, 100.0) => mean(&points),
            None => {
                return Err("the average needs percentiles 0 and 100, or --average".into());
            }
        };
        Ok(Self { points, average })
    }

    /// Mean.
    pub fn average(&self) -> Time {
        self.average
    }

    /// The least.
    pub fn least(&self) -> Time {
        self.points[0].1
    }

    /// The highest percentile that is known, and its RTT.
    pub fn worst(&self) -> (f64, Time) {
        *self.points.last().expect("there are points")
    }

    /// RTT at a percentile; below the lowest point, that of the lowest.
    pub fn percentile(&self, percentile: f64) -> Time {
        let above = self.points.iter().position(|(at, _)| *at >= percentile);
        match above {
            None => self.worst().1,
            Some(0) => self.least(),
            Some(index) => {
                let ((p0, t0), (p1, t1)) = (self.points[index - 1], self.points[index]);
                let share = (percentile - p0) / (p1 - p0);
                seconds(t0.as_secs_f64() + share * (t1.as_secs_f64() - t0.as_secs_f64()))
            }
        }
    }
}

fn mean(points: &[(f64, Time)]) -> Time {
    let area = |pair: &[(f64, Time)]| {
        let middle = (pair[0].1.as_secs_f64() + pair[1].1.as_secs_f64()) / 2.0;
        middle * (pair[1].0 - pair[0].0) / 100.0
    };
    match points {
        [(_, only)] => *only,
        _ => seconds(points.windows(2).map(area).sum()),
    }
}

/// To the nearest nanosecond.
fn seconds(seconds: f64) -> Time {
    Time::from_ns((seconds * 1e9).round() as u64)
}

/// An error without a place.
pub fn wrong(message: String) -> Error {
    Error::Other {
        message,
        help: Some(format!(
            "RTTs are given as --rtt {EXAMPLE} or as a file: `unpause suggest ecn --help`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_of_the_ecn_sharp_paper_has_its_average() {
        let text = "0:80us,50:120us,75:160us,90:220us,100:240us";
        let rtts = Rtts::of_percentiles(text, None).unwrap();
        assert_eq!(rtts.average(), Time::from_ns(136_500));
        assert_eq!(rtts.percentile(90.0), Time::from_us(220));
        assert_eq!(rtts.percentile(25.0), Time::from_us(100));
        assert_eq!(rtts.percentile(95.0), Time::from_us(230));
        assert_eq!(
            (rtts.least(), rtts.worst()),
            (Time::from_us(80), (100.0, Time::from_us(240)))
        );
    }

    #[test]
    fn samples_and_distributions_are_read_from_files() {
        let directory = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = directory.path().join("rtts.csv");
            std::fs::write(&path, text).unwrap();
            Rtts::of_file(&path, None)
        };
        let samples = read("# measured\n100us\n200us # slow\n\n300us\n").unwrap();
        assert_eq!(samples.average(), Time::from_us(200));
        assert_eq!(samples.percentile(75.0), Time::from_us(250));
        let cdf = read("rtt,probability\n100us,0\n200us,0.5\n400us,1\n").unwrap();
        assert_eq!(cdf.average(), Time::from_us(225));
        assert_eq!(read("70us\n").unwrap().percentile(90.0), Time::from_us(70));
        for (text, said) in [
            ("", "there are no RTTs"),
            ("100\n", "rtts.csv:1: found `100`"),
            ("100us\n200us,0.5\n", "rtts.csv:2"),
            ("100us,0\n90us,1\n", "both must grow"),
            ("100us,0\n200us,0.8\n", "the highest is 80"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
