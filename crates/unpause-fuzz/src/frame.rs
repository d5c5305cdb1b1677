//! Frames: what is accepted, built again, is read as the same.

use unpause_wire::Frame;

/// Reads a frame.
pub fn check(data: &[u8]) {
    let Ok((frame, rest)) = Frame::parse(data) else {
        return;
    };
    assert!(rest.len() < data.len());
    let mut bytes = vec![0; frame.length()];
    frame.build(&mut bytes).expect("what was read has a place");
    let (again, _) = Frame::parse(&bytes).expect("what was built can be read");
    assert_eq!(again, frame);
}
