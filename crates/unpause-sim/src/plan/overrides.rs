//! What must be so of switches that are set otherwise than the others.

use crate::config::{Config, NodeKind, SwitchModel};
use crate::fabric::{NodeId, PRIORITIES};
use crate::invalid::{Invalid, Subject, bytes};

const FIELD: &str = "switch.overrides";

/// Overrides are of switches with a shared buffer, and of what those have.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    let switch = &config.switch;
    for own in &switch.overrides {
        let kind = |node: &NodeId| config.fabric.nodes.get(*node as usize);
        if let Some(node) = own
            .switches
            .iter()
            .find(|it| kind(it) != Some(&NodeKind::Switch))
        {
            return Err(Invalid::new(FIELD, "is no switch").of(Subject::Host(*node)));
        }
        if switch.model != SwitchModel::SharedBuffer {
            return Err(
                Invalid::new(FIELD, "only switches with a shared buffer can differ")
                    .and("switch.model", "of every switch"),
            );
        }
        let paused = switch.lossless != 0 && switch.cbfc.is_none();
        let maps = own.pfc_to_queue;
        if maps.is_some_and(|map| map.iter().any(|to| usize::from(*to) >= PRIORITIES)) {
            return Err(Invalid::new(FIELD, "there is no such queue").label("queues are 0 to 7"));
        }
        let of_pfc =
            maps.is_some() || own.lossless.is_some() || own.fixed.is_some() || own.shift.is_some();
        if of_pfc && !paused {
            return Err(Invalid::new(FIELD, "no switch has PFC")
                .label("this is a setting of PFC")
                .help("set lossless = [3] in [switch], or remove it"));
        }
        if let Some(lossless) = own.lossless
            && lossless & !switch.lossless != 0
        {
            return Err(Invalid::new(FIELD, "a priority is lossless at this switch alone")
                .label("`lossless` of [switch] must have it")
                .help("add it to `lossless` of [switch], and write overrides for those without it"));
        }
        if let Some((xoff, xon)) = own.fixed
            && xon > xoff
        {
            let label = format!("XON {} is above XOFF {}", bytes(xon), bytes(xoff));
            return Err(Invalid::new(FIELD, "XON is above XOFF").label(label));
        }
        if let Some(red) = own.red
            && red.kmin > red.kmax
        {
            return Err(Invalid::new(FIELD, "`kmin` is above `kmax`").label("of this override"));
        }
    }
    Ok(())
}
