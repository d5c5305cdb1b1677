//! NCCL's pair of binary trees over servers, in which each server is inside of one of them at most. In a server, its ranks are
//! a chain; the first of them is in the tree.

use super::group::Group;
use super::step::{Part, Step};

/// The parent and the children of a rank in a tree, as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    parent: Option<u32>,
    children: [Option<u32>; 2],
}

/// In the first tree, whose root is rank 0.
fn first((me, n): (u32, u32)) -> Place {
    if me == 0 {
        let child = (n > 1).then(|| 1 << (n - 1).ilog2());
        return Place {
            parent: None,
            children: [child, None],
        };
    }
    let lowest = me & me.wrapping_neg();
    let upwards = me & !lowest;
    let parent = match upwards | lowest << 1 {
        above if above < n => above,
        _ => upwards,
    };
    let below = |half: u32| (half > 0).then(|| me - half);
    let above = |mut half: u32| {
        while half > 0 && me + half >= n {
            half /= 2;
        }
        (half > 0).then(|| me + half)
    };
    Place {
        parent: Some(parent),
        children: [below(lowest / 2), above(lowest / 2)],
    }
}

/// In the second: mirrored if there is an even number of ranks, shifted by one if not.
fn second((me, n): (u32, u32)) -> Place {
    let (at, rank): (u32, Box<dyn Fn(u32) -> u32>) = match n % 2 {
        0 => (n - 1 - me, Box::new(move |at| n - 1 - at)),
        _ => ((me + n - 1) % n, Box::new(move |at| (at + 1) % n)),
    };
    let Place { parent, children } = first((at, n));
    Place {
        parent: parent.map(&rank),
        children: children.map(|child| child.map(&rank)),
    }
}

/// The parent of a place, and its children, in a tree of a channel.
fn around((me, group): (u32, &Group), (tree, channel): (u32, u32)) -> (Option<u32>, Vec<u32>) {
    let (server, number) = group.link(channel, me);
    let next = group.of_chain(channel, (server, number + 1));
    if number > 0 {
        let parent = group.of_chain(channel, (server, number - 1));
        return (parent, next.into_iter().collect());
    }
    let at = (server, group.servers());
    let Place { parent, children } = match tree {
        0 => first(at),
        _ => second(at),
    };
    let head = |server| group.of_chain(channel, (server, 0));
    let children = children.into_iter().flatten().filter_map(head);
    (parent.and_then(head), children.chain(next).collect())
}

/// All-reduce over one of the trees of a channel: up to the root, and down again.
pub fn all_reduce(rank: (u32, &Group), tree: (u32, u32), step: u32, to: &mut Step) {
    let (parent, children) = around(rank, tree);
    let whole = |peer, reduces| Part {
        peer,
        first: 0,
        count: 1,
        reduces,
        bytes: None,
    };
    let children = children.into_iter();
    match step {
        0 => to.receives.extend(children.map(|child| whole(child, true))),
        1 => {
            to.sends.extend(parent.map(|parent| whole(parent, true)));
            to.receives
                .extend(parent.map(|parent| whole(parent, false)));
        }
        _ => to.sends.extend(children.map(|child| whole(child, false))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(of: &dyn Fn(u32) -> Place, n: u32) -> Vec<Vec<u32>> {
        (0..n)
            .map(|me| of(me).children.into_iter().flatten().collect())
            .collect()
    }

    #[test]
    fn each_tree_reaches_all_and_no_rank_is_inside_of_both() {
        for n in 2..130 {
            let trees: [&dyn Fn(u32) -> Place; 2] = [&|me| first((me, n)), &|me| second((me, n))];
            for tree in trees {
                let below = children(tree, n);
                let roots: Vec<u32> = (0..n).filter(|me| tree(*me).parent.is_none()).collect();
                assert_eq!(roots.len(), 1, "{n}");
                let mut reached = roots;
                let mut at = 0;
                while let Some(&me) = reached.get(at) {
                    for child in &below[me as usize] {
                        assert_eq!(tree(*child).parent, Some(me), "{n}");
                    }
                    reached.extend(&below[me as usize]);
                    at += 1;
                }
                reached.sort_unstable();
                assert_eq!(reached, (0..n).collect::<Vec<_>>());
            }
            // But for the roots, of which each has a single child.
            let inside = |place: Place| place.parent.is_some() && place.children[0].is_some();
            for me in 0..n {
                let both = inside(first((me, n))) && inside(second((me, n)));
                assert!(!both, "rank {me} of {n}");
            }
        }
    }

    #[test]
    fn eight_ranks_are_as_nccl_says() {
        let parents: Vec<Option<u32>> = (0..8).map(|me| first((me, 8)).parent).collect();
        let expected = [
            None,
            Some(2),
            Some(4),
            Some(2),
            Some(0),
            Some(6),
            Some(4),
            Some(6),
        ];
        assert_eq!(parents, expected);
    }
}
