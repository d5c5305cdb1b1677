//! Arguments of `unpause compare`.

use std::path::PathBuf;

use super::Say;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause compare results/mine results/mine-seed7
  unpause compare results/a results/b --out differences.html")]
pub struct Compare {
    /// Result directories.
    #[arg(required = true)]
    pub directories: Vec<PathBuf>,
    /// Also write an interactive page with all results and their differences.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}
