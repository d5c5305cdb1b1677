//! Rows of `tests/data/link_buffers.csv`, for tests of links.

const ROWS: &str = include_str!("../tests/data/link_buffers.csv");

/// The columns of each row.
pub(crate) fn rows() -> impl Iterator<Item = [u64; 7]> {
    let rows = ROWS.lines().filter(|row| !row.starts_with('#')).skip(1);
    rows.map(|row| {
        let mut numbers = row.split(',').map(|value| value.parse().expect("a number"));
        core::array::from_fn(|_| numbers.next().expect("seven columns"))
    })
}
