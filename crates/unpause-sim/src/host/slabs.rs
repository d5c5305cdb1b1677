//! Tables of flows.

use slab::Slab;
use unpause_protocols::state_visitor::StateVisitor;

/// Makes place for one, where a slab would for four: most hosts of a large fabric have one flow or none.
pub(super) fn reserve_first<T>(slab: &mut Slab<T>) {
    if slab.capacity() == 0 {
        slab.reserve_exact(1);
    }
}

/// Shows the values of a slab, and their places.
pub(super) fn show_all<T, L: StateVisitor>(
    slab: &mut Slab<T>,
    visitor: &mut L,
    show: impl Fn(&mut T, &mut L),
) {
    visitor.same(slab.len() as u64);
    for (slot, value) in slab {
        visitor.same(slot as u64);
        show(value, visitor);
    }
}
