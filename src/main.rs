//! The command `congenial`.

use std::process::ExitCode;

fn main() -> ExitCode {
    congenial::cli::main()
}
