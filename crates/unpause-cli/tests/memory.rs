//! Memory that the system refuses ends the program with a sentence.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Set for the process that asks for too much.
const ASKED: &str = "UNPAUSE_TEST_ASKED";
/// Bytes of one block, twice what the limit of addresses allows.
const BLOCK: usize = 8_000_000_000;

#[test]
fn a_block_that_is_refused_ends_with_a_sentence() {
    if std::env::var_os(ASKED).is_some() {
        // The allocator is that of the command line, once this is linked.
        let version = ["unpause", "--version"].map(Into::into);
        assert_eq!(unpause_cli::main(version), 0);
        std::hint::black_box(vec![0_u8; BLOCK]);
        return;
    }
    let own = std::env::current_exe().expect("this program has a name");
    let done = Command::new("sh")
        .args(["-c", "ulimit -v 4000000 && exec \"$0\" \"$@\""])
        .arg(own)
        .args([
            "--exact",
            "a_block_that_is_refused_ends_with_a_sentence",
            "--nocapture",
        ])
        .env(ASKED, "1")
        .output()
        .expect("it can be started");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.signal().is_none(), "{errors}");
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(errors.contains("error: out of memory: 8000 MB"), "{errors}");
    assert!(errors.contains("finished runs are kept"), "{errors}");
}
