//! Finished runs of all scenarios of a user, and `unpause cache`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;
use unpause_scenario::quantity::parse_size;
use unpause_scenario::{Cache, Error};

use crate::args::{self, Form};
use crate::output::{complain, show, show_json};
use crate::text;

/// Where it is, or "off".
const PLACE: &str = "UNPAUSE_CACHE";
/// How much it may hold.
const SIZE: &str = "UNPAUSE_CACHE_SIZE";
/// Unless that says otherwise: a thousand runs of small scenarios, or ten of large ones.
const DEFAULT_SIZE: u64 = 2_000_000_000;

/// The user's cache, of which nothing is taken if it is `fresh`; none if it is switched off, has no place, or if somebody
/// else may have written to it, which is told unless `quiet`.
pub fn of_user(fresh: bool, quiet: bool) -> Result<Option<Cache>, Error> {
    let limit = limit()?;
    let Some(folder) = folder() else {
        return Ok(None);
    };
    match Cache::open(folder, limit, fresh) {
        Ok(cache) => Ok(Some(cache)),
        Err(error) => {
            if !quiet {
                let help = error.help_text().unwrap_or_default();
                complain!("note: {error} ({help})");
            }
            Ok(None)
        }
    }
}

/// `unpause cache`
pub fn cache(args: &args::Cache) -> Result<(), Error> {
    let limit = limit()?;
    let Some(folder) = folder() else {
        match args.output {
            Form::Json => show_json(&json!({ "directory": null })),
            Form::Text => show("no cache: UNPAUSE_CACHE is off, or there is no home directory\n"),
        }
        return Ok(());
    };
    let cache = Cache::open(folder.clone(), limit, false)?;
    let held = cache.holds();
    let left = match args.clear {
        true => cache.clear()?,
        false => Vec::new(),
    };
    match args.output {
        Form::Json => show_json(&json!({
            "directory": folder,
            "runs": held.runs,
            "bytes": held.bytes,
            "limit_bytes": limit,
            "cleared": args.clear,
            "left": left,
        })),
        Form::Text => {
            let runs = if held.runs == 1 { "run" } else { "runs" };
            let size = megabytes(held.bytes);
            let what = format!("{} finished {runs}, {size}", held.runs);
            let place = folder.display();
            show(&if args.clear {
                format!("removed {what}: {place}\n")
            } else {
                format!("{what} of at most {}: {place}\n", megabytes(limit))
            });
            if !left.is_empty() {
                show(&format!(
                    "left, since the cache has not made it: {}\n",
                    listed(&left)
                ));
            }
        }
    }
    Ok(())
}

/// The note on runs that were taken from the cache; empty if there are none.
pub fn reused(cache: Option<&Cache>, runs: usize) -> String {
    match cache.map_or(0, Cache::reused) {
        0 => String::new(),
        reused => {
            let text = format!(
                "reused: {reused} of {runs} runs from the cache (--fresh simulates them again)"
            );
            text::wrapped(&text, text::columns())
        }
    }
}

/// The first few of names.
fn listed(names: &[String]) -> String {
    const FEW: usize = 5;
    let mut first = names[..names.len().min(FEW)].join(", ");
    if names.len() > FEW {
        first += &format!(" and {} more", names.len() - FEW);
    }
    first
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn limit() -> Result<u64, Error> {
    let Some(text) = std::env::var_os(SIZE).filter(|text| !text.is_empty()) else {
        return Ok(DEFAULT_SIZE);
    };
    let text = text.to_string_lossy().into_owned();
    parse_size(&text).map_err(|error| Error::Other {
        message: format!("{SIZE}: {error}"),
        help: Some(error.help.clone()),
    })
}

/// The directory for finished runs.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match set(PLACE) {
        Some(off) if off == "off" => None,
        Some(place) => Some(PathBuf::from(place).join("runs")),
        None => caches(set("XDG_CACHE_HOME"), set("HOME")).map(|cache| cache.join("unpause/runs")),
    }
}

/// Where a user's caches are: by the XDG Base Directory Specification, which asks for absolute paths; on macOS in the
/// library.
fn caches(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || {
        let below = if cfg!(target_os = "macos") {
            "Library/Caches"
        } else {
            ".cache"
        };
        home.map(|home| PathBuf::from(home).join(below))
    };
    absolute.or_else(of_home)
}
