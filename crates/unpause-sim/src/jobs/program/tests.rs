use proptest::prelude::*;
use unpause_protocols::units::Time;

use super::*;

fn send(to: u32, bytes: u64, tag: u64) -> Task {
    Task::Send { to, bytes, tag }
}

fn receive(from: u32, bytes: u64, tag: u64) -> Task {
    Task::Receive {
        from: Some(from),
        bytes,
        tag: Some(tag),
    }
}

fn us(us: u64) -> Task {
    Task::Compute(Time::from_us(us))
}

const PLAIN: (u8, u16, u16) = (0, 0, 0);

/// Each rank does these, one after the other.
fn in_turn(ranks: &[&[Task]]) -> Draft {
    let rank = |tasks: &&[Task]| {
        let mut rank = DraftRank::default();
        for (at, task) in tasks.iter().enumerate() {
            rank.add(*task, PLAIN);
            if at > 0 {
                rank.wait(at as u32, at as u32 - 1);
            }
        }
        rank
    };
    Draft {
        ranks: ranks.iter().map(rank).collect(),
        by_number: false,
        shared: Vec::new(),
    }
}

fn wrong(draft: &Draft) -> (u32, u32, Wrong) {
    let error = Program::new(draft).expect_err("it cannot be run");
    (error.rank, error.operation, error.wrong)
}

#[test]
fn messages_meet_the_first_receive_that_asks_for_them() {
    let anything = Task::Receive {
        from: None,
        bytes: 9,
        tag: None,
    };
    let mut draft = in_turn(&[
        &[send(2, 5, 7), send(2, 6, 8)],
        &[us(50), send(2, 7, 7)],
        &[],
    ]);
    // All are posted at once: the first takes what comes first, and rank 1 sends last.
    for task in [anything, receive(1, 9, 7), receive(0, 9, 8)] {
        draft.ranks[2].add(task, PLAIN);
    }
    let program = Program::new(&draft).expect("it can be run");
    let connections = program.connections();
    let pairs: Vec<(u32, u32)> = connections.iter().map(|it| (it.from, it.to)).collect();
    assert_eq!(pairs, [(0, 2), (1, 2)]);
    assert_eq!(program.messages_of(0), [(0, 0), (1, 2)]);
    assert_eq!(program.messages_of(1), [(1, 1)]);
    assert_eq!((program.bytes_of(0), program.bytes()), (11, 18));
    let amounts: Vec<u64> = program.of_rank(2).iter().map(|it| it.amount).collect();
    assert_eq!(amounts, [5, 7, 6], "a receive knows its message");
}

#[test]
fn the_order_of_messages_is_that_in_which_they_are_sent() {
    let mut draft = in_turn(&[&[us(9), send(1, 1, 0), send(1, 2, 1)], &[]]);
    // Later in the file, sooner in time.
    draft.ranks[0].add(send(1, 3, 2), PLAIN);
    for tag in 0..3 {
        draft.ranks[1].add(receive(0, 3, tag), PLAIN);
    }
    let program = Program::new(&draft).expect("it can be run");
    assert_eq!(program.messages_of(0), [(3, 2), (1, 0), (2, 1)]);
}

#[test]
fn what_can_never_end_is_found() {
    let no_one = in_turn(&[&[send(1, 4, 1)], &[receive(0, 4, 2)]]);
    assert_eq!(wrong(&no_one), (1, 0, Wrong::NothingSent));
    let lost = in_turn(&[&[send(1, 4, 1), send(1, 4, 1)], &[receive(0, 4, 1)]]);
    assert_eq!(wrong(&lost), (0, 1, Wrong::NobodyReceives));
    let small = in_turn(&[&[send(1, 4, 1)], &[receive(0, 3, 1)]]);
    assert_eq!(wrong(&small), (1, 0, Wrong::Larger(4)));
    let nowhere = in_turn(&[&[send(2, 4, 1)], &[]]);
    assert_eq!(wrong(&nowhere), (0, 0, Wrong::NoRank(2)));
    let itself = in_turn(&[&[receive(0, 4, 1)], &[]]);
    assert_eq!(wrong(&itself), (0, 0, Wrong::ToItself));
    // Both wait for the other.
    let both = in_turn(&[
        &[receive(1, 1, 0), send(1, 1, 0)],
        &[us(1), receive(0, 1, 0), send(0, 1, 0)],
    ]);
    let cycle = vec![(0, 0), (1, 2), (1, 1), (0, 1)];
    assert_eq!(wrong(&both), (0, 0, Wrong::Cycle(cycle)));
    let mut alone = in_turn(&[&[us(1), us(1)], &[]]);
    alone.ranks[0].wait(0, 1);
    assert_eq!(wrong(&alone), (0, 0, Wrong::Cycle(vec![(0, 0), (0, 1)])));
}

#[test]
fn an_edge_may_wait_for_the_start() {
    let mut draft = in_turn(&[&[us(5)], &[]]);
    let second = draft.ranks[0].add(send(1, 1, 0), PLAIN);
    draft.ranks[0].edges.push(Edge {
        before: 0,
        after: second,
        at_start: true,
    });
    draft.ranks[1].add(receive(0, 1, 0), PLAIN);
    let program = Program::new(&draft).expect("it can be run");
    assert_eq!(program.waiting_for(0, 0).collect::<Vec<_>>(), [(1, true)]);
}

#[test]
fn the_largest_messages_can_be_sent() {
    let draft = in_turn(&[
        &[send(1, u64::MAX, 0), send(1, u64::MAX, 1)],
        &[receive(0, u64::MAX, 0), receive(0, u64::MAX, 1)],
    ]);
    let program = Program::new(&draft).expect("it can be run");
    assert_eq!((program.bytes_of(0), program.bytes()), (u64::MAX, u64::MAX));
}

#[test]
fn another_program_has_another_digest() {
    let digest = |bytes| {
        let draft = in_turn(&[&[send(1, bytes, 0)], &[receive(0, 100, 0)]]);
        format!("{:?}", Program::new(&draft).expect("it can be run"))
    };
    assert_eq!(digest(5), digest(5));
    assert_ne!(digest(5), digest(6));
}

proptest! {
    /// Whatever waits for whatever: a program can be run, or what is in the way is named.
    #[test]
    fn any_draft_is_run_or_refused(
        tasks in proptest::collection::vec((0u32..3, 0u32..3, 0u64..3, 0u8..4), 0..24),
        edges in proptest::collection::vec((0u32..3, 0u32..9, 0u32..9, any::<bool>()), 0..12),
    ) {
        let mut draft = Draft { ranks: vec![DraftRank::default(); 3], by_number: false, shared: Vec::new() };
        for (rank, peer, tag, kind) in tasks {
            let task = match kind {
                0 => us(tag),
                1 => send(peer, 1 + tag, tag),
                2 => receive(peer, 5, tag),
                _ => Task::Receive { from: None, bytes: 5, tag: None },
            };
            draft.ranks[rank as usize].add(task, PLAIN);
        }
        for (rank, before, after, at_start) in edges {
            let of = &mut draft.ranks[rank as usize];
            let count = of.operations.len() as u32;
            if before < count && after < count {
                of.edges.push(Edge { before, after, at_start });
            }
        }
        match Program::new(&draft) {
            Ok(program) => {
                let operations: usize = draft.ranks.iter().map(|it| it.operations.len()).sum();
                prop_assert_eq!(program.count(), operations);
                let sends = draft.ranks.iter().flat_map(|it| &it.operations);
                let sends = sends.filter(|it| matches!(it.task, Task::Send { .. })).count();
                prop_assert_eq!(program.message_count(), sends);
            }
            Err(error) => {
                let of = &draft.ranks[error.rank as usize];
                prop_assert!((error.operation as usize) < of.operations.len());
            }
        }
    }
}
