//! Result directories, read back.

use std::path::Path;

use crate::output::Manifest;
use crate::table_files::decode;
use crate::tables::{TABLES, Tables};
use crate::text::error::Error;

/// A result directory, read.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Its tables.
    pub tables: Tables,
    /// Its manifest.
    pub manifest: Manifest,
}

impl Saved {
    /// Reads a result directory.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("manifest.json");
        let text = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Other {
                message: format!("{} is not a complete result directory", directory.display()),
                help: Some("it has no manifest.json; `unpause run` writes one at the end".into()),
            },
            _ => Error::io("read", &path, error),
        })?;
        let manifest = serde_json::from_slice(&text).map_err(|error| Error::Other {
            message: format!("{}: {error}", path.display()),
            help: Some("run the scenario again: this manifest is of another version".into()),
        })?;
        let mut tables = Vec::new();
        for name in TABLES {
            let path = directory.join(format!("{name}.parquet"));
            let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
            let table = decode(bytes).map_err(|error| Error::Other {
                message: format!("{}: {error}", path.display()),
                help: None,
            })?;
            tables.push(table);
        }
        let [
            runs,
            flows,
            ports,
            pauses,
            port_series,
            flow_series,
            packets,
        ] = tables.try_into().expect("one for each name");
        let tables = Tables {
            runs,
            flows,
            ports,
            pauses,
            port_series,
            flow_series,
            packets,
        };
        Ok(Self { tables, manifest })
    }
}
