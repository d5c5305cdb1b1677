//! The state of a NIC that the account of a flow's time needs.

use unpause_protocols::units::Time;

use super::flow::delays::Line;
use super::nic::Nic;

/// The NIC of a flow in `class`, whose link has sent frames again for so long.
pub fn line(nic: &Nic, class: u8, resent: Time) -> Line<'_> {
    Line {
        pauses: nic.waits.get(usize::from(class)),
        paused: nic.classes[usize::from(class)].pause.held_since(),
        resent,
    }
}
