//! `marking` of a scheme, and how it goes with `congestion_control`.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::congestion_point::Config;

use crate::marking::Marking;
use crate::mechanisms::Mechanism;
use crate::text::document::{Table, take_string};
use crate::text::error::{Checked, Problem, nearest};

/// Keys of a scheme that [`marking`] reads.
pub(super) const KEYS: [&str; 8] = [
    "marking",
    "red",
    "dctcp-red",
    "codel",
    "tcn",
    "ecn-sharp",
    "ecn-sharp-tofino",
    "np-ecn",
];

/// The congestion point that a scheme names by `marking`, if it does.
pub(super) fn marking(mut table: Table<'_>) -> Checked<Option<(Marking, Config)>> {
    let chosen = take_string(&mut table, "marking")?;
    let Some(name) = &chosen else {
        parameters(table, "none", None)?;
        return Ok(None);
    };
    let mut all = Marking::ALL.into_iter();
    let Some(marking) = all.find(|marking| marking.name() == name.get_ref()) else {
        return Problem::new(format!("unknown marking \"{}\"", name.get_ref()))
            .at(name.span(), "here")
            .help_if(nearest(name.get_ref(), &Marking::ALL.map(Marking::name)))
            .err();
    };
    let parameters = parameters(table, marking.name(), chosen.as_ref())?;
    Ok(Some((marking, marking.configure(parameters)?)))
}

/// The one of `tables` that has parameters of `name`, which `marking` says or is by default; there must be
/// no other.
fn parameters<'i>(
    tables: Table<'i>,
    name: &str,
    chosen: Option<&Spanned<String>>,
) -> Checked<Option<Table<'i>>> {
    let mut parameters = None;
    for (table, value) in tables.into_inner() {
        let span = value.span();
        if table.get_ref() != name {
            return Problem::new(format!("[scheme.{}] has no effect", table.get_ref()))
                .at(table.span(), "these parameters")
                .at(
                    chosen.map_or(table.span(), Spanned::span),
                    format!("marking is \"{name}\""),
                )
                .help(format!(
                    "remove the table, or set marking = \"{}\"",
                    table.get_ref()
                ))
                .err();
        }
        match value.into_inner() {
            DeValue::Table(table) => parameters = Some(Spanned::new(span, table)),
            _ => {
                return Problem::new(format!("`{}` is not a table", table.get_ref()))
                    .at(span, "expected parameters")
                    .err();
            }
        }
    }
    Ok(parameters)
}

/// A `marking` takes the place of the congestion point that `mechanism` brings.
pub(super) fn replaces(
    mechanism: Mechanism,
    marking: Range<usize>,
    parameters: Option<&Table<'_>>,
) -> Checked<()> {
    let name = mechanism.name();
    let Some(own) = mechanism.marking_keys() else {
        return Problem::new(format!("{name} needs its own congestion point"))
            .at(marking, "this would replace it")
            .help("remove `marking`, or choose another congestion_control")
            .err();
    };
    for (key, value) in parameters
        .into_iter()
        .flat_map(|table| table.get_ref().iter())
    {
        if own.contains(&key.get_ref().as_ref()) {
            return Problem::new(format!(
                "`{}` of [scheme.{name}] has no effect",
                key.get_ref()
            ))
            .at(value.span(), "of the congestion point that it brings")
            .at(marking, "is replaced by this")
            .help("set it in the table of the marking")
            .err();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marking_with_parameters_has_its_table() {
        for marking in Marking::ALL {
            let listed = KEYS.contains(&marking.name());
            assert_eq!(listed, !marking.keys().is_empty(), "{}", marking.name());
        }
    }
}
