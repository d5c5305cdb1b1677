//! Quantities as they are written, and what is wrong with others.

use super::*;
use proptest::prelude::*;

#[test]
fn reads_what_people_write() {
    for (text, bps) in [
        ("40Gbps", 40_000_000_000),
        ("40 Gb/s", 40_000_000_000),
        ("2.5Gbit/s", 2_500_000_000),
        ("10 Mbps", 10_000_000),
        ("1_000bps", 1_000),
    ] {
        assert_eq!(parse_rate(text), Ok(Rate::from_bps(bps)), "{text}");
    }
    for (text, ps) in [
        ("5us", 5_000_000),
        ("5µs", 5_000_000),
        ("5 μs", 5_000_000),
        ("0.1us", 100_000),
        ("12.5ns", 12_500),
        ("150ms", 150_000_000_000),
        ("0s", 0),
    ] {
        assert_eq!(parse_duration(text), Ok(Time::from_ps(ps)), "{text}");
    }
    for (text, bytes) in [
        ("512KB", 512_000),
        ("64KiB", 65_536),
        ("9 MB", 9_000_000),
        ("1B", 1),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for (text, num, den) in [
        ("1/128", 1, 128),
        ("1%", 1, 100),
        ("0.5", 5, 10),
        ("2.5%", 25, 1000),
        ("100ppm", 100, 1_000_000),
        ("0.5 ppm", 5, 10_000_000),
    ] {
        assert_eq!(parse_ratio(text), Ok(Ratio { num, den }), "{text}");
    }
    assert_eq!(parse_ratio("1/128").unwrap().scaled(1 << 32), Some(1 << 25));
}

#[test]
fn says_what_is_wrong() {
    let texts = [
        "40Gps",
        "40",
        "Gbps",
        "-1Gbps",
        "5GB/s",
        "40gbps",
        "5us",
        "1e3bps",
        "0.5bps",
        "99999999999999Tbps",
        "",
    ];
    let mut said = String::new();
    for text in texts {
        let error = parse_rate(text).unwrap_err();
        said += &format!("{}\n    help: {}\n", error.message, error.help);
    }
    for text in ["-64KB", "64Kb", "64"] {
        let error = parse_size(text).unwrap_err();
        said += &format!("{}\n    help: {}\n", error.message, error.help);
    }
    for text in ["0.5ps", "5 Us", "5m"] {
        let error = parse_duration(text).unwrap_err();
        said += &format!("{}\n    help: {}\n", error.message, error.help);
    }
    for text in ["1/0", "x", "-1%", "1/x"] {
        let error = parse_ratio(text).unwrap_err();
        said += &format!("{}\n    help: {}\n", error.message, error.help);
    }
    insta::assert_snapshot!(said);
}

proptest! {
    #[test]
    fn a_time_survives_display(ps in 0..1_000_000_000_000_u64) {
        prop_assert_eq!(parse_duration(&format!("{ps}ps")), Ok(Time::from_ps(ps)));
        let us = format!("{}.{:06}us", ps / 1_000_000, ps % 1_000_000);
        prop_assert_eq!(parse_duration(&us), Ok(Time::from_ps(ps)));
    }

    #[test]
    fn a_rate_survives_display(mbps in 1..1_000_000_u64) {
        let rate = Rate::from_mbps(mbps);
        prop_assert_eq!(parse_rate(&rate.to_string()), Ok(rate));
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let _ = (parse_rate(&text), parse_duration(&text), parse_size(&text), parse_ratio(&text));
    }

    #[test]
    fn no_number_with_a_unit_panics(number in "-?[0-9._]{0,40}", unit in "[a-zA-Zµ/%]{0,5}") {
        let text = format!("{number}{unit}");
        let _ = (parse_rate(&text), parse_duration(&text), parse_size(&text), parse_ratio(&text));
    }
}
