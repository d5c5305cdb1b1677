//! Arguments of `unpause lint`.

use std::path::PathBuf;

use super::Form;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause lint /etc/sonic/config_db.json
  unpause lint leaf*.json --strict        warnings, too, give exit code 1
  unpause lint leaf0.json --format json

Exit codes: 0 no errors, 1 errors (with --strict, warnings, too), or a file that is not JSON")]
pub struct Lint {
    /// Files config_db.json of switches with SONiC.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Count warnings as errors in the exit code; notes never count.
    #[arg(long)]
    pub strict: bool,
    /// Output format.
    #[arg(
        long,
        visible_alias = "output",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub format: Form,
}
