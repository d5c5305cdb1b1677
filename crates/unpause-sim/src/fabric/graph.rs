//! Cycles in directed graphs.

/// A cycle of the graph, if there is one, from its lowest node; it is the shortest of those through
/// a node of the first cycle that a search in depth finds.
pub fn shortest_cycle(successors: &[Vec<u32>]) -> Option<Vec<u32>> {
    let mut shortest = any_cycle(successors)?;
    let mut before = vec![u32::MAX; successors.len()];
    for root in shortest.clone() {
        if let Some(cycle) = cycle_through(root, successors, &mut before)
            && cycle.len() < shortest.len()
        {
            shortest = cycle;
        }
    }
    let lowest = (0..shortest.len()).min_by_key(|&at| shortest[at])?;
    shortest.rotate_left(lowest);
    Some(shortest)
}

/// Search in depth, without recursion.
fn any_cycle(successors: &[Vec<u32>]) -> Option<Vec<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; successors.len()];
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..successors.len() as u32 {
        if state[root as usize] != State::New {
            continue;
        }
        state[root as usize] = State::Open;
        path.push((root, 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(&to) = successors[*node as usize].get(*next) else {
                state[*node as usize] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match state[to as usize] {
                State::New => {
                    state[to as usize] = State::Open;
                    path.push((to, 0));
                }
                State::Open => {
                    let nodes = path.iter().map(|&(node, _)| node);
                    return Some(nodes.skip_while(|&node| node != to).collect());
                }
                State::Done => {}
            }
        }
    }
    None
}

/// Search in breadth for the way from `root` back to it.
fn cycle_through(root: u32, successors: &[Vec<u32>], before: &mut [u32]) -> Option<Vec<u32>> {
    before.fill(u32::MAX);
    let mut frontier = vec![root];
    let mut at = 0;
    while let Some(&node) = frontier.get(at) {
        at += 1;
        for &to in &successors[node as usize] {
            if to == root {
                let mut cycle = vec![node];
                while let Some(&last) = cycle.last()
                    && last != root
                {
                    cycle.push(before[last as usize]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if before[to as usize] == u32::MAX {
                before[to as usize] = node;
                frontier.push(to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_shortest_cycle_or_none() {
        let graph = |edges: &[(u32, u32)]| {
            let mut successors = vec![Vec::new(); 8];
            for &(from, to) in edges {
                successors[from as usize].push(to);
            }
            successors
        };
        let tree = graph(&[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
        assert_eq!(shortest_cycle(&tree), None);
        let long = graph(&[(0, 1), (1, 5), (5, 3), (3, 1)]);
        assert_eq!(shortest_cycle(&long), Some(vec![1, 5, 3]));
        let both = graph(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (4, 3)]);
        assert_eq!(shortest_cycle(&both), Some(vec![3, 4]));
        assert_eq!(shortest_cycle(&graph(&[(6, 6)])), Some(vec![6]));
    }
}
