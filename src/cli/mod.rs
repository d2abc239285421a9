//! The command line: one file per verb.

mod aggregate;
mod check;
mod compare;
mod completions;
mod digest;
mod man;
mod merge;
mod methods;
mod plan;
mod report;
mod run;
mod schema;
mod shard;
mod simulate;
mod submit;
mod verify;

use clap::{Parser, Subcommand};
use std::io::{ErrorKind, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 it failed (a full disk, no memory, a check that did not pass, a bug); 2 usage, config, data or files; \
3 changed for the worse; 4 nothing to compare; 5 some cells failed (without --allow-failed), or with --strict some chains have not converged; 6 incompatible, or batches are missing; 130, 143 interrupted.";

/// Study differentially private releases that satisfy invariants.
///
/// Noise here is seeded and in floating point: for experiments, not for releasing real data.
#[derive(Debug, Parser)]
#[command(name = "congenial", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the grid of a config, write its results, print its table
    Run(run::Arguments),
    /// Merge the shards of a run
    Merge(merge::Arguments),
    /// Print a script or manifest that draws the shards on a cluster and merges them
    Submit(submit::Arguments),
    /// Check configs, without their data
    Check(check::Arguments),
    /// List the cells of a config without running them
    Plan(plan::Arguments),
    /// Draw each method of a config briefly, and check its invariant and its law
    Verify(verify::Arguments),
    /// Print the tables of finished runs again
    Report(report::Arguments),
    /// Compare two finished runs, cell by cell
    Compare(compare::Arguments),
    /// Print rows and a hash of what they hold for every table of finished runs
    Digest(digest::Arguments),
    /// Count raw records by a key and join a lookup: makes the data table of a config
    Aggregate(aggregate::Arguments),
    /// Simulate tables of negative binomial counts on the cells of a layout
    Simulate(simulate::Arguments),
    /// List the noise laws and methods that a config can name, with their options
    Methods,
    /// Print the JSON schema of configs, for editors
    Schema,
    /// Print the manual page
    Man(man::Arguments),
    /// Print a shell's completion script
    Completions(completions::Arguments),
}

/// Parses the arguments, does what they ask, and returns the exit code ([`crate::failure::Failure::exit_code`]).
pub fn main() -> ExitCode {
    let verb = Cli::parse().verb;
    // A panic is a bug, and has said so by itself.
    match std::panic::catch_unwind(AssertUnwindSafe(|| act(verb))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            let code = failure.exit_code();
            let _ = writeln!(std::io::stderr(), "{:?}", miette::Report::new(failure.for_people()));
            ExitCode::from(code)
        }
        Err(_) => {
            say!("this is a bug of congenial, please report it");
            ExitCode::FAILURE
        }
    }
}

fn act(verb: Verb) -> crate::failure::Result<()> {
    match verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Merge(arguments) => merge::run(arguments),
        Verb::Submit(arguments) => submit::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Digest(arguments) => digest::run(&arguments),
        Verb::Aggregate(arguments) => aggregate::run(&arguments),
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Methods => methods::run(),
        Verb::Schema => schema::run(),
        Verb::Man(arguments) => man::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
    }
}

/// Says what the figures of runs are not to be trusted for. Errors: that, if it is `strict`; the tables.
fn warn(report: &crate::report::Report, strict: bool) -> crate::failure::Result<()> {
    let warnings = report.warnings()?;
    if strict && !warnings.is_empty() {
        return Err(crate::failure::Failure::Strict(warnings.join("\n")));
    }
    warnings.iter().for_each(|warning| say!("{warning}"));
    Ok(())
}

/// Standard output, in messages.
const OUTPUT: &str = "standard output";

/// Standard output; a closed pipe takes everything, quietly.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match std::io::stdout().write(bytes) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match std::io::stdout().flush() {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

/// Writes to standard output.
fn print(text: &str) -> crate::failure::Result<()> {
    let failed = |e| crate::failure::Failure::write(std::path::Path::new(OUTPUT), e);
    Output.write_all(text.as_bytes()).and_then(|()| Output.flush()).map_err(failed)
}
