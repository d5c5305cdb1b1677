//! Where frames wait at the inputs of a crossbar, and which inputs ask for which outputs.

use std::collections::VecDeque;

use super::islip::Ports;
use crate::chassis::Way;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// The queues of all inputs. A FIFO asks for the output of its first frame.
#[derive(Debug)]
pub struct Lanes {
    /// Queues of an (input, class): one, or one for each output.
    per_input: usize,
    classes: usize,
    /// Frames with the ports that they are to leave by; by input, then class, then output if there is a queue
    /// for each.
    queues: Vec<VecDeque<(PortId, Packet)>>,
    /// By output, then class: inputs that ask.
    asking: Vec<Ports>,
}

impl Lanes {
    /// Nothing waits at a switch of `ports` ports; `voq` for a queue for each output.
    pub fn new(ports: usize, classes: usize, voq: bool) -> Self {
        let per_input = if voq { ports } else { 1 };
        Self {
            per_input,
            classes,
            queues: vec![VecDeque::new(); ports * classes * per_input],
            asking: vec![0; ports * classes],
        }
    }

    /// Inputs that ask for (`output`, `class`).
    pub fn asking(&self, output: PortId, class: u8) -> Ports {
        self.asking[usize::from(output) * self.classes + usize::from(class)]
    }

    /// A frame has come in.
    pub fn push(&mut self, packet: &Packet, way: Way) {
        let queue = self.queue(way);
        self.queues[queue].push_back((way.to, *packet));
        if self.queues[queue].len() == 1 {
            *self.asking_mut(way.to, way.class) |= 1 << way.from;
        }
    }

    /// Takes the first frame of `way`, for which its input has asked.
    pub fn pop(&mut self, way: Way) -> Packet {
        let queue = self.queue(way);
        let (to, packet) = self.queues[queue].pop_front().expect("a frame is waiting");
        debug_assert_eq!(
            to, way.to,
            "an input asks for the output of its first frame"
        );
        *self.asking_mut(to, way.class) &= !(1 << way.from);
        if let Some(&(next, _)) = self.queues[queue].front() {
            *self.asking_mut(next, way.class) |= 1 << way.from;
        }
        packet
    }

    /// The frames of (`input`, `class`).
    pub fn frames(&self, input: PortId, class: u8) -> impl Iterator<Item = &Packet> + Clone {
        let first = self.first(input, class);
        let queues = self.queues[first..first + self.per_input].iter();
        queues.flatten().map(|(_, packet)| packet)
    }

    /// The frames of (`input`, `class`), with the output of each.
    pub fn waiting(&self, input: PortId, class: u8) -> impl Iterator<Item = &(PortId, Packet)> {
        let first = self.first(input, class);
        self.queues[first..first + self.per_input].iter().flatten()
    }

    fn first(&self, input: PortId, class: u8) -> usize {
        (usize::from(input) * self.classes + usize::from(class)) * self.per_input
    }

    fn queue(&self, way: Way) -> usize {
        self.first(way.from, way.class) + usize::from(way.to) % self.per_input
    }

    fn asking_mut(&mut self, output: PortId, class: u8) -> &mut Ports {
        &mut self.asking[usize::from(output) * self.classes + usize::from(class)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::packet::Kind;

    fn served(voq: bool) -> (Vec<Ports>, Vec<Ports>) {
        let mut lanes = Lanes::new(3, 1, voq);
        for to in [1, 2] {
            let way = Way {
                from: 0,
                to,
                class: 0,
            };
            lanes.push(&Packet::new(Kind::Data, 3, 0, 1048), way);
        }
        assert_eq!(lanes.frames(0, 0).count(), 2);
        let asking = |lanes: &Lanes| (0..3).map(|output| lanes.asking(output, 0)).collect();
        let before = asking(&lanes);
        lanes.pop(Way {
            from: 0,
            to: 1,
            class: 0,
        });
        (before, asking(&lanes))
    }

    #[test]
    fn a_fifo_asks_for_its_first_frame_and_virtual_output_queues_for_all() {
        assert_eq!(served(false), (vec![0, 1, 0], vec![0, 0, 1]));
        assert_eq!(served(true), (vec![0, 1, 1], vec![0, 0, 1]));
    }
}
