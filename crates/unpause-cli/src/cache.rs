//! Finished runs of all scenarios of a user, and `unpause cache`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;
use unpause_scenario::quantity::parse_size;
use unpause_scenario::{Cache, Error};

use crate::args::{self, Form};
use crate::output::{show, show_json};
use crate::text;

/// Where it is, or "off".
const PLACE: &str = "UNPAUSE_CACHE";
/// How much it may hold.
const SIZE: &str = "UNPAUSE_CACHE_SIZE";
/// Unless that says otherwise: a thousand runs of small scenarios, or ten of large ones.
const DEFAULT_SIZE: u64 = 2_000_000_000;

/// The user's cache, of which nothing is taken if it is `fresh`; none if it is switched off, or has no place.
pub fn of_user(fresh: bool) -> Result<Option<Cache>, Error> {
    let limit = limit()?;
    Ok(folder().map(|folder| Cache::new(folder, limit, fresh)))
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
    let cache = Cache::new(folder.clone(), limit, false);
    let held = cache.holds();
    if args.clear {
        cache.clear()?;
    }
    match args.output {
        Form::Json => show_json(&json!({
            "directory": folder,
            "runs": held.runs,
            "bytes": held.bytes,
            "limit_bytes": limit,
            "cleared": args.clear,
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
