//! `congenial-frames RUN… [--out DIR]`: the tables of L1 errors and of bounds on the total variation distance, from the
//! rows of every replicate.

use clap::Parser;
use congenial::failure::Failure;
use congenial_frames::{Error, L1_ERROR, Result, Runs, TV_BOUND, l1_error, tv_bound, write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Sums up the rows of any number of runs: l1_error and tv_bound as CSV and parquet, with the figures of `congenial report --out`
#[derive(Parser)]
struct Arguments {
    /// Folders of finished runs
    #[arg(required = true, value_name = "RUN")]
    folders: Vec<PathBuf>,
    /// Where the tables go; those that are there are replaced
    #[arg(long, value_name = "DIR", default_value = "results/tables")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Run(failure)) => {
            let failure = failure.for_people();
            eprintln!("{failure}");
            failure.exit_code().into()
        }
        Err(Error::Frame(error)) => {
            eprintln!("{}", congenial::page::shown(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let (runs, out) = (Runs::open(&arguments.folders)?, &arguments.out);
    let tables = [(L1_ERROR, l1_error(&runs)?), (TV_BOUND, tv_bound(&runs)?)];
    if tables.iter().all(|(_, frame)| frame.is_none()) {
        return Err(Failure::Nothing("none of these runs has releases or meetings".into()).into());
    }
    std::fs::create_dir_all(out).map_err(|e| Failure::write(out, e))?;
    for (stem, frame) in tables {
        frame.map_or(Ok(()), |frame| write(&frame, out, stem, |place| println!("{}", place.display())))?;
    }
    Ok(())
}
