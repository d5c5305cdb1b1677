//! Credits of receivers. They have dice of their own, so that other scenarios stay what they were.

use toml::{Table, Value};
use unpause_scenario::CONGESTION_CONTROLS;

use super::sketch::Sketch;
use crate::case::{put, size, time};
use crate::dice::Dice;

/// Gives some schemes that repair losses one by one credits of receivers, alone or beside NSCC.
pub fn credits(sketch: &mut Sketch, dice: &mut Dice) {
    if sketch.document.contains_key("job") {
        return;
    }
    let (rtt, frame) = (sketch.rtt, sketch.frame);
    let schemes = sketch.document.get_mut("scheme");
    let schemes = schemes.and_then(Value::as_array_mut).into_iter().flatten();
    for scheme in schemes.filter_map(Value::as_table_mut) {
        let repair = scheme.get("loss_recovery").and_then(Value::as_str);
        if repair != Some("selective-repeat") || !dice.percent(40) {
            continue;
        }
        let name = dice.pick(&["rccc", "rccc", "nscc"]);
        let parameters = parameters(name, (rtt, frame), scheme.contains_key("marking"), dice);
        replace(scheme, name, parameters);
    }
}

/// The scheme has this congestion control of RoCE flows instead of its own.
fn replace(scheme: &mut Table, name: &str, parameters: Table) {
    let roce = CONGESTION_CONTROLS.into_iter().filter(|it| !it.is_tcp());
    for before in roce {
        scheme.remove(before.name());
    }
    put(scheme, "congestion_control", name);
    if !parameters.is_empty() {
        put(scheme, name, parameters);
    }
}

/// Base RTTs from half of the longest path's to twice that. `marked`: another congestion point takes the place of its own.
fn parameters(name: &str, (rtt, frame): (u64, u64), marked: bool, dice: &mut Dice) -> Table {
    let mut keys = Table::new();
    if name == "nscc" {
        put(&mut keys, "credits", true);
    }
    if dice.percent(40) {
        put(
            &mut keys,
            "base_rtt",
            time(dice.between(rtt / 2 + 1, 2 * rtt + 1)),
        );
    }
    if !marked && dice.percent(40) {
        let kmin = dice.between(0, 20) * frame;
        put(&mut keys, "kmin", size(kmin));
        put(&mut keys, "kmax", size(kmin + dice.between(0, 20) * frame));
        put(&mut keys, "pmax", dice.between(1, 10) as f64 / 10.0);
    }
    if name == "rccc" && dice.percent(40) {
        put(&mut keys, "oversubscribed", dice.percent(70));
    }
    keys
}
