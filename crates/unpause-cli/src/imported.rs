//! Messages of importers about the files they read.

use std::path::Path;

use crate::output::show;

/// Says where the scenario is, how its source was understood, and what of that is not in there.
pub fn show_imported(out: &Path, notes: &[String], left_out: &[String]) {
    let mut text = format!("{}: `unpause run` runs it\n", out.display());
    for (heading, lines) in [("read:", notes), ("not carried over:", left_out)] {
        if !lines.is_empty() {
            text += &format!("{heading}\n");
        }
        for line in lines {
            text += &format!("  {line}\n");
        }
    }
    show(&text);
}
