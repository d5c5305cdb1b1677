//! iSLIP: which inputs send to which outputs (N. McKeown, "The iSLIP Scheduling Algorithm for Input-Queued
//! Switches", IEEE/ACM Transactions on Networking 7(2), 1999), in its form with priorities.
//!
//! In an iteration every output that is free grants one of the inputs that ask for it, and every input
//! accepts one of its grants, each by a pointer that goes round. Pointers move beyond what was accepted, and
//! only in the first iteration: that is what spreads them under load.

use crate::chassis::Way;
use crate::config::MOST_CROSSBAR_PORTS;
use crate::fabric::PortId;

/// A set of ports.
pub type Ports = u128;

const _: () = assert!(MOST_CROSSBAR_PORTS == Ports::BITS as usize);

/// The scheduler of a crossbar.
#[derive(Debug)]
pub struct Islip {
    classes: usize,
    iterations: u32,
    /// By output, then class: the input to be granted first.
    grant: Vec<u32>,
    /// By input, then class: the output to be accepted first.
    accept: Vec<u32>,
    /// By input, then class: outputs that have granted; empty between iterations.
    granted: Vec<Ports>,
}

impl Islip {
    /// All pointers at port 0.
    pub fn new(ports: usize, classes: usize, iterations: u32) -> Self {
        Self {
            classes,
            iterations,
            grant: vec![0; ports * classes],
            accept: vec![0; ports * classes],
            granted: vec![0; ports * classes],
        }
    }

    /// Matches the free `inputs` with the free `outputs`; `asking` says which inputs have something for an
    /// (output, class) that has room for it. Answers true if nothing is left to be matched.
    pub fn run(
        &mut self,
        mut inputs: Ports,
        mut outputs: Ports,
        asking: impl Fn(PortId, u8) -> Ports,
        matched: &mut Vec<Way>,
    ) -> bool {
        for iteration in 0..self.iterations {
            let granted = self.grants(inputs, outputs, &asking);
            if granted == 0 {
                return true;
            }
            for input in members(granted) {
                let way = self.accepted(input);
                if iteration == 0 {
                    let (from, to) = (u32::from(way.from), u32::from(way.to));
                    let class = usize::from(way.class);
                    self.grant[usize::from(way.to) * self.classes + class] = from + 1;
                    self.accept[usize::from(way.from) * self.classes + class] = to + 1;
                }
                inputs &= !(1 << way.from);
                outputs &= !(1 << way.to);
                matched.push(way);
            }
        }
        false
    }

    /// Outputs grant; answers which inputs have a grant.
    fn grants(
        &mut self,
        inputs: Ports,
        outputs: Ports,
        asking: &impl Fn(PortId, u8) -> Ports,
    ) -> Ports {
        let mut granted = 0;
        for output in members(outputs) {
            let classes = (0..self.classes as u8).rev();
            let mut asked = classes.map(|class| (class, asking(output, class) & inputs));
            let Some((class, asking)) = asked.find(|(_, asking)| *asking != 0) else {
                continue;
            };
            let at = usize::from(output) * self.classes + usize::from(class);
            let input = next_in_turn(asking, self.grant[at]);
            let at = usize::from(input) * self.classes + usize::from(class);
            self.granted[at] |= 1 << output;
            granted |= 1 << input;
        }
        granted
    }

    /// The grant that `input` accepts: the most urgent one whose turn it is.
    fn accepted(&mut self, input: PortId) -> Way {
        let first = usize::from(input) * self.classes;
        let grants = &mut self.granted[first..first + self.classes];
        let class = grants.iter().rposition(|outputs| *outputs != 0);
        let class = class.expect("the input has a grant");
        let to = next_in_turn(grants[class], self.accept[first + class]);
        grants.fill(0);
        Way {
            from: input,
            to,
            class: class as u8,
        }
    }
}

/// The member of `ports`, which is not empty, that comes first from `pointer` on.
fn next_in_turn(ports: Ports, pointer: u32) -> PortId {
    let ahead = ports.rotate_right(pointer).trailing_zeros();
    ((pointer + ahead) % Ports::BITS) as PortId
}

/// The members of a set, in order.
pub fn members(mut ports: Ports) -> impl Iterator<Item = PortId> {
    std::iter::from_fn(move || {
        let first = (ports != 0).then(|| ports.trailing_zeros() as PortId)?;
        ports &= ports - 1;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By output and class, who asks.
    fn matched(islip: &mut Islip, ports: usize, asking: &[Vec<Ports>]) -> Vec<(PortId, PortId)> {
        let all = (1 << ports) - 1;
        let mut found = Vec::new();
        let asking = |output: PortId, class: u8| asking[usize::from(output)][usize::from(class)];
        islip.run(all, all, asking, &mut found);
        found.sort_unstable_by_key(|way| way.from);
        found.iter().map(|way| (way.from, way.to)).collect()
    }

    /// Where all inputs ask for all outputs, one iteration matches one pair, then two, and from the Nth slot on
    /// all of them, each pair in turn.
    #[test]
    fn pointers_spread_until_every_slot_is_full() {
        const N: usize = 4;
        let mut islip = Islip::new(N, 1, 1);
        let asking = vec![vec![0b1111]; N];
        for slot in 0..N {
            assert_eq!(matched(&mut islip, N, &asking).len(), slot + 1);
        }
        let mut served = [[0; N]; N];
        for _ in 0..5 * N {
            let pairs = matched(&mut islip, N, &asking);
            assert_eq!(pairs.len(), N);
            for (input, output) in pairs {
                served[usize::from(input)][usize::from(output)] += 1;
            }
        }
        assert_eq!(served, [[5; N]; N]);
    }

    /// Two inputs that both prefer output 0: a second iteration finds the other pair.
    #[test]
    fn iterations_fill_a_matching() {
        let asking = [vec![0b11], vec![0b11]];
        assert_eq!(matched(&mut Islip::new(2, 1, 1), 2, &asking), [(0, 0)]);
        let twice = matched(&mut Islip::new(2, 1, 2), 2, &asking);
        assert_eq!(twice, [(0, 0), (1, 1)]);
    }

    /// A grant that is not accepted, or one of a later iteration, moves no pointer: input 1 keeps its turn at
    /// output 1.
    #[test]
    fn only_what_the_first_iteration_matches_moves_pointers() {
        let mut islip = Islip::new(2, 1, 2);
        matched(&mut islip, 2, &[vec![0b11], vec![0b11]]);
        assert_eq!((islip.grant, islip.accept), (vec![1, 0], vec![1, 0]));
    }

    #[test]
    fn the_most_urgent_class_goes_first_and_each_class_has_its_turns() {
        let mut islip = Islip::new(3, 2, 1);
        let asking = [vec![0b001, 0b110], vec![0; 2], vec![0; 2]];
        let order: Vec<_> = (0..3).map(|_| matched(&mut islip, 3, &asking)).collect();
        assert_eq!(order, [[(1, 0)], [(2, 0)], [(1, 0)]]);
        let calm = [vec![0b001, 0], vec![0; 2], vec![0; 2]];
        assert_eq!(matched(&mut islip, 3, &calm), [(0, 0)]);
    }

    /// Pointers go round past the last port.
    #[test]
    fn turns_go_round() {
        assert_eq!(next_in_turn(0b101, 1), 2);
        assert_eq!(next_in_turn(0b101, 3), 0);
        assert_eq!(next_in_turn(1 << 127 | 1, 127), 127);
        assert_eq!(next_in_turn(1 << 127 | 1, 128), 0);
        assert_eq!(members(1 << 127 | 0b1010).collect::<Vec<_>>(), [1, 3, 127]);
    }
}
