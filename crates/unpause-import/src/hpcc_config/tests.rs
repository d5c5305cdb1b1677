use std::path::Path;

use super::*;

#[test]
fn the_last_of_a_key_counts_and_words_that_are_none_are_passed_over() {
    let text = "CC_MODE 3 {Specifying different CC. 1: DCQCN}\nCC_MODE 7\nKMIN_MAP 2 1 100 2 200 MIN_RATE 1Gb/s\nLINK_DOWN 5 1 2";
    let config = parse(text, Path::new("c.txt")).unwrap();
    assert_eq!((config.cc_mode, config.min_rate.as_str()), (7, "1Gb/s"));
    assert_eq!(config.kmin, [(1, 100.0), (2, 200.0)]);
    assert_eq!(config.link_down, [5, 1, 2]);
    assert!(config.has_win && !config.var_win && config.multi_rate);
}

#[test]
fn mistakes_have_their_line() {
    let refused = |text: &str| parse(text, Path::new("c.txt")).unwrap_err().to_string();
    assert_eq!(
        refused("\nCC_MODE x"),
        "c.txt:2:9: found `x`, expected a whole number, the value of CC_MODE"
    );
    assert_eq!(
        refused("RATE_AI"),
        "c.txt:1: found the end of the file, expected a value of RATE_AI"
    );
}
