//! Arguments of `unpause view`.

use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause view results/mine
  unpause view results/mine --port 8000

The page is that of explore.html, with all rows of all tables. It is served on this machine
only, at an address with a secret token, until Ctrl-C. To use it from another machine:
ssh -L 8000:127.0.0.1:8000 HOST.")]
pub struct View {
    /// Result directory.
    pub directory: PathBuf,
    /// Port to listen at [default: a free one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
}
