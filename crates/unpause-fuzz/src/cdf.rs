//! CDFs of flow sizes: what is accepted is a distribution.

use std::path::Path;

use unpause_scenario::cdf;
use unpause_sim::traffic::Cdf;

/// Reads a file of points.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match cdf::parse(text, Path::new("sizes.csv")) {
        Ok(cdf) => is_distribution(&cdf),
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}

/// Points do not decrease and end at 1; draws and mean are within them.
pub(crate) fn is_distribution(cdf: &Cdf) {
    let points = cdf.points();
    let (Some((least, _)), Some((most, end))) = (points.first(), points.last()) else {
        panic!("no points");
    };
    assert_eq!(*end, 1.0);
    for pair in points.windows(2) {
        assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1, "{pair:?}");
    }
    let mut last = 0;
    for step in 0..=16 {
        let drawn = cdf.inverse(f64::from(step) / 16.0);
        // A draw of nothing is one byte.
        let within = (*least).max(1)..=(*most).max(1);
        assert!(within.contains(&drawn), "{drawn} of {points:?}");
        assert!(drawn >= last, "{drawn} after {last} of {points:?}");
        last = drawn;
    }
    // Both are sums of floating-point numbers.
    let mean = cdf.mean();
    let slack = 1.0 + *most as f64 * 1e-9;
    let within = *least as f64 - slack..=*most as f64 + slack;
    assert!(within.contains(&mean), "mean {mean} of {points:?}");
}
