//! `[topology]`: a builder and its parameters, or a file.

use unpause_sim::config::Ecmp;
use unpause_text::error::{Checked, Problem, nearest};

use super::BUILDERS;
use super::builder::Places;
use crate::files::Files;
use crate::text::checks::both;
use crate::text::document::{Table, read, take_string};
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;
use unpause_import::fabric::topology::Topology;

/// `[topology]` with a `file`.
#[derive(Keys)]
#[keys("topology")]
pub(crate) struct FileKeys {
    /// largest number of parallel links between two nodes
    #[key(unset = "the last link counts")]
    pub(crate) parallel: Written<u32>,
    /// ECMP hash: `"own"`, seeded per run, or `"hpcc"`, that of HPCC's simulator, which also uses the destination ports of flow files
    pub(crate) ecmp: WithDefault<OneOf<Ecmp>>,
}

/// Reads the `[topology]` table and builds what it says.
pub(crate) fn topology(mut table: Table<'_>, files: &Files) -> Checked<Topology> {
    let places = Places {
        table: table.span(),
        keys: table
            .get_ref()
            .iter()
            .map(|(k, v)| (k.get_ref().to_string(), v.span()))
            .collect(),
    };
    let file = take_string(&mut table, "file")?;
    let builder = take_string(&mut table, "builder")?;
    let name = match (file, builder) {
        (Some(file), None) => {
            let keys: FileKeys = read(table, &["file"])?;
            let mut topology = files.topology(&file, keys.parallel.get())?;
            topology.fabric.ecmp = keys.ecmp.value().0;
            return Ok(topology);
        }
        (Some(file), Some(builder)) => return both("file", &file, "builder", &builder),
        (None, Some(builder)) => builder,
        (None, None) => {
            return Problem::new("neither `builder` nor `file`")
                .at(places.table, "in this table")
                .help("set builder = \"two-switch\" (`unpause list` shows all), or file = \"topology.txt\"")
                .err();
        }
    };
    let found = BUILDERS
        .iter()
        .find(|builder| builder.name() == name.get_ref());
    match found {
        Some(builder) => builder.build(table, places),
        None => {
            let builders = BUILDERS.map(|builder| builder.name());
            Problem::new(format!("unknown topology builder \"{}\"", name.get_ref()))
                .at(name.span(), "here")
                .help_if(nearest(name.get_ref(), &builders))
                .err()
        }
    }
}
