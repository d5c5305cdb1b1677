//! Chakra traces on the command line.

use std::path::Path;

use serde_json::{Value, json};
use unpause_import::FileError;
use unpause_import::programs::{self, OneTrace};
use unpause_scenario::Error;

use crate::args::Say;
use crate::{complaint, text};

/// A file that is the trace of a rank, by its name.
pub fn is_trace(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "et")
}

/// Says what a trace has, or what is wrong with it; false if something is.
pub fn validate(file: &Path, say: Say, told: &mut Vec<Value>) -> bool {
    let name = file.display().to_string();
    match programs::one_trace(file) {
        Ok(trace) => {
            told.push(json!({
                "file": name,
                "ok": true,
                "trace": {
                    "rank": trace.rank,
                    "nodes": trace.nodes,
                    "compute": trace.compute,
                    "sends": trace.sends,
                    "receives": trace.receives,
                    "collectives": trace.collectives,
                    "sent_bytes": trace.sent_bytes,
                },
                "not_carried_over": trace.notes,
            }));
            say.tell(&text::wrapped(&sound(&name, &trace), text::columns()));
            true
        }
        Err(error) => {
            let errors = [failed(error)];
            told.push(json!({
                "file": name,
                "ok": false,
                "errors": complaint::as_json(&errors),
            }));
            if !say.is_json() {
                complaint::explain(&errors, say.output);
            }
            false
        }
    }
}

fn sound(name: &str, trace: &OneTrace) -> String {
    let rank = match trace.rank {
        Some(rank) => format!("of rank {rank}"),
        None => "of one rank".into(),
    };
    let mut text = format!(
        "{name}: ok: Chakra trace {rank}; {} nodes: {} compute, {} send, {} receive, {} collective; {} B sent\n",
        trace.nodes,
        trace.compute,
        trace.sends,
        trace.receives,
        trace.collectives,
        trace.sent_bytes,
    );
    for note in &trace.notes {
        text += &format!("   not carried over: {note}\n");
    }
    text
}

fn failed(error: FileError) -> Error {
    match error {
        FileError::Io { path, reason } => Error::io("read", &path, reason),
        of_file => Error::Other {
            message: of_file.to_string(),
            help: None,
        },
    }
}
