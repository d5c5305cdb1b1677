//! Arguments of `unpause view`.

use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause view results/mine
  unpause view results/mine --port 8000

The page is explore.html's, with everything that is in the tables. It is served on this
machine alone, at an address that nobody can guess, until Ctrl-C. From elsewhere:
ssh -L 8000:127.0.0.1:8000 HOST.")]
pub struct View {
    /// Result directory.
    pub directory: PathBuf,
    /// Port to listen at [default: a free one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
}
