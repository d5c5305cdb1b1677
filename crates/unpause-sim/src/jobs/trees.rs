//! NCCL's pair of binary trees, in which each rank is inside of one of them at most.

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

/// All-reduce over one of the trees: up to the root, and down again.
pub fn all_reduce(rank: (u32, u32), tree: u32, step: u32, to: &mut Step) {
    let place = match tree {
        0 => first(rank),
        _ => second(rank),
    };
    let whole = |peer, reduces| Part {
        peer,
        first: 0,
        count: 1,
        reduces,
    };
    let children = place.children.into_iter().flatten();
    match step {
        0 => to.receives.extend(children.map(|child| whole(child, true))),
        1 => {
            to.sends
                .extend(place.parent.map(|parent| whole(parent, true)));
            to.receives
                .extend(place.parent.map(|parent| whole(parent, false)));
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
