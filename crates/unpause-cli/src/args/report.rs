//! Arguments of `unpause report`.

use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause report results/mine            draw it again, after `run --no-report` or an update
  unpause report results/mine --claims   the claims, one by one
  unpause report results/mine --png      every figure also as PNG")]
pub struct Report {
    /// Directory of a result or a sweep.
    pub directory: PathBuf,
    /// Print the claims of the scenario, one by one.
    #[arg(long)]
    pub claims: bool,
    /// Write all figures as PNG, too.
    #[arg(long)]
    pub png: bool,
    /// Print errors only.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print every column and a sentence for each scheme, too.
    #[arg(long, short)]
    pub verbose: bool,
}
