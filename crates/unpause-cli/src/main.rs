//! `unpause`

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(unpause_cli::main(std::env::args_os()))
}
