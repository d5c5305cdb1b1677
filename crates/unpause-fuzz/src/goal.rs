//! Schedules of GOAL: what is accepted can be run.

use std::path::Path;

use unpause_import::programs;
use unpause_sim::jobs::program::Kind;

/// Reads a schedule, text or binary.
pub fn check(data: &[u8]) {
    match programs::parse_goal(data.to_vec(), Path::new("ring.goal")) {
        Ok(read) => is_sound(&read),
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}

/// Every send has its receive, every label a name, and something can be done first, if anything can be done.
pub(crate) fn is_sound(read: &programs::Imported) {
    let program = &read.program;
    let mut messages = vec![[0_usize; 2]; program.connections().len()];
    for rank in 0..program.ranks() {
        let operations = program.of_rank(rank);
        for it in operations {
            assert!(usize::from(it.label) < read.labels.len());
            let connection = program.connections().get(it.connection as usize);
            match it.kind {
                Kind::Send => assert_eq!(connection.expect("it has one").from, rank),
                Kind::Receive => assert_eq!(connection.expect("it has one").to, rank),
                _ => continue,
            }
            messages[it.connection as usize][usize::from(it.kind == Kind::Receive)] += 1;
            assert!(it.amount > 0);
        }
        let is_free = |at: usize| operations[at].requires == 0;
        assert!(operations.is_empty() || (0..operations.len()).any(is_free));
    }
    for (at, [sends, receives]) in messages.iter().enumerate() {
        let of = program.messages_of(at).len();
        assert_eq!((*sends, *receives), (of, of));
    }
}
