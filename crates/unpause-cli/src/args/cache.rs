//! `unpause cache`

use super::Form;

/// Examples of its arguments.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause cache
  unpause cache --clear

unpause run keeps finished runs here and reuses them if the scenario, the seed and the program are the same.
UNPAUSE_CACHE names the directory; UNPAUSE_CACHE=off uses none. UNPAUSE_CACHE_SIZE is its limit, such as 500MB: the
runs not used for the longest time are removed first.")]
pub struct Cache {
    /// Remove everything in it.
    #[arg(long)]
    pub clear: bool,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Form,
}
