//! Every target holds for what fuzzing starts from.

use std::path::Path;

use unpause_fuzz::{seeds, target};

#[test]
fn targets_hold_for_their_seeds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).expect("the project's root exists");
    let inputs = seeds::inputs(Path::new(".")).expect("the project's files can be read");
    for (name, inputs) in inputs {
        let check = target(name).expect("seeds are for targets");
        assert!(!inputs.is_empty(), "{name} has no seeds");
        inputs.iter().for_each(|input| check(input));
    }
    unpause_fuzz::results::clean();
    unpause_fuzz::directories::clean();
}

#[test]
fn a_topology_with_an_unlinked_node_is_written_as_it_was_read() {
    let check = target("hpcc_topology").expect("there is such a target");
    check(b"4 1 2\n3\n0 3 50Gbps 2us 0\n2 3 50Gbps 2us 0\n");
}
