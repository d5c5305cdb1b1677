//! Memory that the system refuses ends the program with a sentence.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// More than the limit allows, in one block: this test's own program has the allocator, too.
const ASKED: &str = "UNPAUSE_TEST_ASKED";

#[test]
fn a_block_that_is_refused_ends_with_a_sentence() {
    if std::env::var_os(ASKED).is_some() {
        // The program of the command line has the allocator if it is linked.
        assert_eq!(
            unpause_cli::main(["unpause", "--version"].map(Into::into)),
            0
        );
        let block = vec![1_u8; 1 << 44];
        std::hint::black_box(&block);
        return;
    }
    let own = std::env::current_exe().expect("this program has a name");
    let done = Command::new(own)
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
    assert!(
        errors.contains("error: out of memory: 17592187 MB"),
        "{errors}"
    );
    assert!(errors.contains("finished runs are kept"), "{errors}");
}
