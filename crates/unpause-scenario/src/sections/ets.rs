//! `[host] ets`: how the priorities of a NIC share its port.

use std::collections::BTreeMap;
use unpause_text::error::{Checked, Problem};

use serde_spanned::Spanned;
use unpause_sim::config::{HostConfig, NicModel, NicShares, PRIORITIES};

/// By priority its weight.
pub(crate) type Ets = BTreeMap<String, Spanned<u16>>;

const MOST: u16 = 1000;

/// The shares that are written, if any are.
pub(crate) fn shares(
    written: Option<&Spanned<Ets>>,
    host: &HostConfig,
) -> Checked<Option<NicShares>> {
    let Some(written) = written else {
        return Ok(None);
    };
    if host.nic == NicModel::Hpcc {
        return Problem::new("the NIC of HPCC's simulator does not support shares")
            .at(written.span(), "beside nic = \"hpcc\"")
            .help("remove one of them")
            .err();
    }
    if written.get_ref().is_empty() {
        return Problem::new("no priority has a weight")
            .at(written.span(), "this is empty")
            .help("write one for each priority that shares: ets = { 0 = 20, 3 = 80 }")
            .err();
    }
    let mut weights = [0; PRIORITIES];
    for (key, weight) in written.get_ref() {
        let Some(place) = key.parse().ok().filter(|it: &usize| *it < PRIORITIES) else {
            return Problem::new(format!("there is no priority `{key}`"))
                .at(weight.span(), "of this one")
                .help("priorities are 0 to 7: ets = { 0 = 20, 3 = 80 }")
                .err();
        };
        if place == usize::from(host.control_priority) {
            return Problem::new(format!("priority {place} carries control frames"))
                .at(weight.span(), "they go before all others")
                .help("remove it here, or set host.control_priority")
                .err();
        }
        if !(1..=MOST).contains(weight.get_ref()) {
            return Problem::new(format!("the weight of priority {place} is out of range"))
                .at(weight.span(), format!("expected 1 to {MOST}"))
                .help("a priority that is left out goes before those with a weight")
                .err();
        }
        weights[place] = *weight.get_ref();
    }
    Ok(Some(NicShares { weights }))
}
