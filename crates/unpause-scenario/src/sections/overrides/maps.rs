//! Which queue and which group a priority has at a switch, and which queue PAUSE of it stops.

use std::collections::BTreeMap;
use unpause_text::error::{Checked, Problem};

use serde_spanned::Spanned;
use unpause_sim::config::{HostConfig, PRIORITIES, SwitchConfig};

use crate::text::keys::Written;

/// By priority another, of a queue or a group.
pub(crate) type PriorityMap = BTreeMap<String, Spanned<u8>>;

/// The identity, but for these entries: what each is called, and whether an entry is possible.
fn map(
    written: &Written<PriorityMap>,
    what: &str,
    check: impl Fn(&str, usize, &Spanned<u8>) -> Checked<()>,
) -> Checked<Option<[u8; PRIORITIES]>> {
    let Some(written) = written.get() else {
        return Ok(None);
    };
    let mut map = std::array::from_fn(|priority| priority as u8);
    for (key, to) in written.get_ref() {
        let Some(from) = key.parse().ok().filter(|it: &usize| *it < PRIORITIES) else {
            return Problem::new(format!("there is no priority `{key}`"))
                .at(to.span(), "of this one")
                .help("priorities are 0 to 7: { 3 = 1 }")
                .err();
        };
        if usize::from(*to.get_ref()) >= PRIORITIES {
            return Problem::new(format!("there is no {what} {}", to.get_ref()))
                .at(to.span(), format!("{what}s are 0 to 7, by priority"))
                .err();
        }
        check(key, from, to)?;
        map[from] = *to.get_ref();
    }
    Ok(Some(map))
}

/// Which queues PAUSE stops.
pub(super) fn pfc_to_queue(
    written: &Written<PriorityMap>,
    switch: &SwitchConfig,
) -> Checked<Option<[u8; PRIORITIES]>> {
    map(written, "queue", |key, priority, queue| {
        if switch.lossless >> priority & 1 == 1 {
            return Ok(());
        }
        Problem::new(format!("priority `{key}` has no PFC"))
            .at(queue.span(), "no PAUSE is sent for it")
            .help("priorities are those of `lossless` of [switch]: { 3 = 1 }")
            .err()
    })
}

/// Where packets of a priority wait, or count; neither can be with control frames.
pub(super) fn of_packets(
    written: &Written<PriorityMap>,
    what: &str,
    host: &HostConfig,
) -> Checked<Option<[u8; PRIORITIES]>> {
    map(written, what, |_, from, to| {
        let control = host.control_priority;
        if from == usize::from(*to.get_ref()) || ![from as u8, *to.get_ref()].contains(&control) {
            return Ok(());
        }
        Problem::new(format!("priority {control} carries control frames"))
            .at(to.span(), format!("{from} to {}", to.get_ref()))
            .help("they have a queue to themselves: choose another, or set host.control_priority")
            .err()
    })
}
