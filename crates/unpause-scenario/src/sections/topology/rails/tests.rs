//! Tests of rails.

use super::super::tests::{count, neighbours};
use super::*;

const DELAY: Time = Time::from_us(5);

fn gbps(gbps: u64) -> Rate {
    Rate::from_gbps(gbps)
}

fn rails() -> Rails {
    Rails {
        servers: 4,
        gpus_per_server: 2,
        rate: gbps(400),
        delay: DELAY,
        nvlink_rate: Some(gbps(2880)),
        nvlink_delay: None,
        leaves: Leaves::PerRail,
        servers_per_leaf: Some(2),
        spines: Some(2),
        spine_rate: Some(gbps(800)),
        uplinks: None,
        tors: 1,
        planes: 1,
    }
}

#[test]
fn a_rail_has_a_leaf_for_gpus_of_one_number() {
    let topology = rails().build().unwrap();
    assert_eq!(topology.hosts().count(), 8);
    assert_eq!(topology.gpus_per_server, Some(2));
    assert_eq!(topology.fabric.nvswitches, [8, 9, 10, 11]);
    assert_eq!(neighbours(&topology, "N1"), ["H2", "H3"]);
    assert_eq!(neighbours(&topology, "H3"), ["N1", "leaf1"]);
    assert_eq!(
        neighbours(&topology, "leaf0"),
        ["H0", "H2", "spine0", "spine1"]
    );
    assert_eq!(
        neighbours(&topology, "leaf3"),
        ["H5", "H7", "spine0", "spine1"]
    );
    assert_eq!(neighbours(&topology, "spine1").len(), 4);
    let rates: Vec<_> = topology.fabric.links.iter().map(|it| it.rate).collect();
    assert_eq!(rates[..2], [gbps(2880), gbps(400)]);
    assert_eq!(rates[16..], [gbps(800); 8]);
    assert_eq!(topology.fabric.links[0].delay, Time::from_ns(25));
}

#[test]
fn with_two_tors_a_gpu_has_a_nic_in_each_half() {
    let one_plane = Rails {
        nvlink_rate: None,
        tors: 2,
        ..rails()
    };
    let topology = one_plane.build().unwrap();
    assert_eq!(topology.fabric.nvswitches, [0; 0]);
    assert_eq!(
        (count(&topology, "leaf"), count(&topology, "spine")),
        (8, 2)
    );
    assert_eq!(neighbours(&topology, "H7"), ["leaf3", "leaf7"]);
    assert_eq!(neighbours(&topology, "spine0").len(), 8);
    let two_planes = Rails {
        planes: 2,
        uplinks: Some(2),
        ..one_plane
    };
    let topology = two_planes.build().unwrap();
    let first = ["leaf0", "leaf1", "leaf2", "leaf3"].map(|leaf| [leaf; 2]);
    assert_eq!(neighbours(&topology, "spine0"), first.concat());
    assert_eq!(neighbours(&topology, "leaf7")[2..], ["spine1", "spine1"]);
}

#[test]
fn shared_leaves_hold_whole_servers() {
    let shared = Rails {
        leaves: Leaves::Shared,
        servers: 3,
        ..rails()
    };
    let topology = shared.build().unwrap();
    assert_eq!(
        neighbours(&topology, "leaf0")[..4],
        ["H0", "H1", "H2", "H3"]
    );
    assert_eq!(
        neighbours(&topology, "leaf1"),
        ["H4", "H5", "spine0", "spine1"]
    );
    // All on one leaf need no spines.
    let alone = Rails {
        servers_per_leaf: None,
        spines: None,
        spine_rate: None,
        ..shared
    };
    let topology = alone.build().unwrap();
    assert_eq!(
        (count(&topology, "leaf"), count(&topology, "spine")),
        (1, 0)
    );
}

fn assert_refused(rails: &Rails, field: &str, message: &str) {
    let invalid = rails.build().unwrap_err();
    assert_eq!(invalid.field, field);
    assert!(invalid.message.contains(message), "{invalid}");
}

#[test]
fn keys_of_spines_are_refused_where_there_is_one_leaf() {
    let one_leaf = Rails {
        leaves: Leaves::Shared,
        servers_per_leaf: None,
        spines: None,
        spine_rate: None,
        ..rails()
    };
    assert!(one_leaf.build().is_ok());
    let with = |set: fn(&mut Rails)| {
        let mut rails = one_leaf.clone();
        set(&mut rails);
        rails
    };
    assert_refused(&with(|it| it.spines = Some(2)), "spines", "has no effect");
    assert_refused(&with(|it| it.uplinks = Some(1)), "uplinks", "has no effect");
    assert_refused(
        &with(|it| it.spine_rate = Some(gbps(1))),
        "spine_rate",
        "has no effect",
    );
}

#[test]
fn rails_that_cannot_be_are_refused() {
    let with = |set: fn(&mut Rails)| {
        let mut rails = rails();
        set(&mut rails);
        rails
    };
    assert_refused(
        &with(|it| it.spines = None),
        "spines",
        "is missing: 4 leaves",
    );
    assert_refused(
        &with(|it| it.planes = 2),
        "planes",
        "two planes need two ToRs",
    );
    let odd = |it: &mut Rails| (it.planes, it.tors, it.spines) = (2, 2, Some(3));
    assert_refused(&with(odd), "spines", "must be even");
    assert_refused(&with(|it| it.tors = 3), "tors", "must be 1 or 2");
    assert_refused(
        &with(|it| it.servers_per_leaf = Some(5)),
        "servers_per_leaf",
        "at most the 4",
    );
    assert_refused(&with(|it| it.uplinks = Some(0)), "uplinks", "at least 1");
    assert_refused(
        &with(|it| it.gpus_per_server = 1),
        "nvlink_rate",
        "carries nothing",
    );
    let without = |it: &mut Rails| (it.nvlink_rate, it.nvlink_delay) = (None, Some(DELAY));
    assert_refused(
        &with(without),
        "nvlink_delay",
        "no effect without `nvlink_rate`",
    );
}
