//! `[pias]`.

use serde_spanned::Spanned;
use unpause_protocols::tagging::{self, pias};
use unpause_sim::bytes;
use unpause_sim::config::{PRIORITIES, Tags};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Size;

use crate::text::checks::data_priority;
use crate::text::keys::{Keys, Written};

type Sizes = Vec<Spanned<Size>>;
type Priorities = Vec<Spanned<u8>>;

/// The thresholds that hold if none are written, in bytes.
const THRESHOLDS: [u64; 3] = [140_000, 280_000, 420_000];

/// `[pias]`
#[derive(Keys)]
#[keys("pias")]
pub(crate) struct Pias {
    /// priority of each level, one more than there are thresholds; the first is also that of SYNs and ACKs
    pub(crate) priorities: Spanned<Priorities>,
    /// bytes sent by a flow; beyond each threshold its segments move to the next level
    #[key(unset = format!("[{}]", THRESHOLDS.map(|size| format!("{:?}", bytes(size))).join(", ")))]
    pub(crate) thresholds: Written<Sizes>,
}

/// PIAS: thresholds that increase, and a priority less urgent than the last for each level.
pub(crate) fn pias(file: &Spanned<Pias>, control_priority: u8) -> Checked<Tags> {
    let pias = file.get_ref();
    let mut thresholds = THRESHOLDS.to_vec();
    if let Some(list) = pias.thresholds.get() {
        thresholds.clear();
        for size in list.get_ref() {
            let (size_bytes, before) = (size.get_ref().0, thresholds.last().copied().unwrap_or(0));
            if size_bytes <= before {
                return Problem::new("thresholds must increase")
                    .at(size.span(), format!("not above {}", bytes(before)))
                    .help("they count from the start of a flow: [\"140KB\", \"280KB\", \"420KB\"]")
                    .err();
            }
            thresholds.push(size_bytes);
        }
    }
    if thresholds.len() >= PRIORITIES {
        let list = pias.thresholds.get().map_or(file.span(), Spanned::span);
        return Problem::new(format!("{} thresholds", thresholds.len()))
            .at(list, "at most 7: there are 8 queues")
            .err();
    }
    let mut priorities: Vec<u8> = Vec::new();
    for priority in pias.priorities.get_ref() {
        let number = data_priority(priority)?;
        if number == control_priority {
            return Problem::new(format!("priority {number} carries control frames"))
                .at(priority.span(), "data cannot use it")
                .help("choose another priority, or set host.control_priority")
                .err();
        }
        if let Some(last) = priorities.last().filter(|last| number >= **last) {
            return Problem::new("priorities of PIAS must decrease")
                .at(
                    priority.span(),
                    format!("not below {last}: the higher is served first"),
                )
                .err();
        }
        priorities.push(number);
    }
    if priorities.len() != thresholds.len() + 1 {
        let levels = thresholds.len() + 1;
        return Problem::new(format!(
            "{} priorities for {levels} levels",
            priorities.len()
        ))
        .at(pias.priorities.span(), "one priority for each level")
        .help("as many as there are thresholds, and one more")
        .err();
    }
    Ok(Tags {
        law: tagging::Config::Pias(pias::Params::of(&thresholds)),
        priorities,
    })
}
