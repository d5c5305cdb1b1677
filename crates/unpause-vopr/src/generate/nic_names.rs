//! Parameters of DCQCN by NVIDIA's names. It draws from dice of its own, so that all other seeds stay the same.

use toml::Value;

use super::sketch::Sketch;
use crate::case::{put, table};
use crate::dice::Dice;

/// Each name with the least and the largest value drawn.
const NAMES: [(&str, i64, i64); 15] = [
    ("dce_tcp_g", 0, 1023),
    ("dce_tcp_rtt", 1, 200),
    ("rate_reduce_monitor_period", 1, 200),
    ("rpg_time_reset", 1, 1000),
    ("rpg_threshold", 1, 31),
    ("rpg_ai_rate", 1, 5000),
    ("rpg_hai_rate", 1, 5000),
    ("rpg_min_rate", 1, 1000),
    ("clamp_tgt_rate", 0, 1),
    ("min_time_between_cnps", 1, 100),
    ("initial_alpha_value", 1023, 1023),
    ("rate_to_set_on_first_cnp", 0, 0),
    ("rpg_min_dec_fac", 50, 50),
    ("rpg_gd", 11, 11),
    ("rpg_byte_reset", 0, 0),
];

/// Keys that go with these names.
const OTHERS: [&str; 4] = ["kmin", "kmax", "pmax", "cnp_on_ack"];

/// True of one of them.
pub fn is_one(key: &str) -> bool {
    NAMES.iter().any(|(name, ..)| *name == key)
}

/// Writes the parameters of some schemes with DCQCN by these names.
pub fn nic_names(sketch: &mut Sketch, dice: &mut Dice) {
    let schemes = sketch.document.get_mut("scheme");
    let schemes = schemes.and_then(Value::as_array_mut);
    let tables = schemes
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    for scheme in tables {
        let law = scheme.get("congestion_control").and_then(Value::as_str);
        if law != Some("dcqcn") || scheme.contains_key("set") || !dice.percent(40) {
            continue;
        }
        let keys = table(scheme, "dcqcn");
        keys.retain(|key, _| OTHERS.contains(&key));
        let on_ack = keys.contains_key("cnp_on_ack");
        for (name, least, most) in NAMES {
            // No NIC sends CNPs then.
            let used = !(on_ack && name == "min_time_between_cnps");
            if used && dice.percent(40) {
                put(keys, name, dice.between(least as u64, most as u64) as i64);
            }
        }
    }
}
