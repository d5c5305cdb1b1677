//! `[topology]`: a builder and its parameters, or a file.

use unpause_sim::config::Ecmp;

use super::BUILDERS;
use super::builder::Places;
use crate::files::Files;
use crate::text::checks::both;
use crate::text::document::{Table, read, take_string};
use crate::text::keys::{keys, names};
use unpause_import::fabric::topology::Topology;
use unpause_text::error::{Checked, Problem, nearest};

names! {
    /// How switches choose among equal next hops.
    pub(crate) EcmpKey { Own = "own", Hpcc = "hpcc" }
}

keys! {
    /// `[topology]` with a `file`.
    pub(crate) FileKeys at "topology" for () {
        parallel: u32 = ["the last link counts"] "largest number of parallel links between two nodes";
        ecmp: EcmpKey = ["`\"own\"`"]
            "ECMP hash: `\"own\"`, seeded per run, or `\"hpcc\"`, that of HPCC's simulator, which also uses the destination ports of flow files";
    }
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
            if keys.ecmp.value() == Some(&EcmpKey::Hpcc) {
                topology.fabric.ecmp = Ecmp::Hpcc;
            }
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
