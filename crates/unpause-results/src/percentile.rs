//! Percentiles, by one definition everywhere.

/// The value that a share of `sorted` lies below, interpolated between neighbours; none of nothing. What is
/// shown and judged, here and in Python, goes by this definition.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * last as f64;
    let (low, high) = (
        sorted[position.floor() as usize],
        sorted[position.ceil() as usize],
    );
    // Not infinity less infinity.
    Some(match high.is_infinite() {
        true => high,
        false => low + (high - low) * position.fract(),
    })
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_interpolate() {
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[3.0], 0.99), Some(3.0));
        assert_eq!(percentile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(percentile(&[0.0, 10.0], 0.25), Some(2.5));
        let endless = [1.0, f64::INFINITY, f64::INFINITY];
        assert_eq!(percentile(&endless, 0.0), Some(1.0));
        assert_eq!(percentile(&endless, 0.25), Some(f64::INFINITY));
        assert_eq!(percentile(&endless, 1.0), Some(f64::INFINITY));
    }
}
