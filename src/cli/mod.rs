//! The command line: one file per verb.

mod aggregate;
mod audit;
mod check;
mod compare;
mod completions;
mod digest;
mod infer;
mod init;
mod ledger;
mod man;
mod merge;
mod methods;
mod plan;
mod release;
mod report;
mod run;
mod schema;
mod shard;
mod simulate;
mod submit;
mod verify;

use crate::files::replace_at;
use crate::page::{self, Format, Page};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 it failed (a full disk, no memory, a check that did not pass, a \
    bug); 2 an error in the usage, the config, the data or the files; 3 compare: a figure changed for the worse; 4 compare: \
    nothing to compare; 5 some cells failed (without --allow-failed), or with --strict some chains have not converged; \
    6 compare: the runs cannot be compared, merge: batches are missing; 7 compare: cells of the base are lost; 130, 143 \
    interrupted.";

/// Study differentially private releases that satisfy invariants.
///
/// Noise of studies is seeded and in floating point: for experiments. `congenial release` is for real counts.
#[derive(Debug, Parser)]
#[command(name = "congenial", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a config for a table of counts: look at the table, and guess what its columns are
    #[command(
        after_help = "Example: congenial init counts.csv --levels state,county --known total >study.toml"
    )]
    Init(init::Arguments),
    /// Run the grid of a config, write its results, print a summary
    #[command(after_help = "Example: congenial run configs/taxi/quick.toml --threads 4 --set replicates=200")]
    Run(run::Arguments),
    /// Merge the shards of a run
    #[command(after_help = "Example: congenial merge study.toml --from machine-1 --from machine-2")]
    Merge(merge::Arguments),
    /// Print a script or manifest that draws the shards on a cluster and merges them
    #[command(after_help = "Example: congenial submit study.toml --engine slurm --threads 8 >study.sh")]
    Submit(submit::Arguments),
    /// Check configs, without their data
    #[command(after_help = "Example: congenial check study.toml")]
    Check(check::Arguments),
    /// List the cells of a config without running them
    #[command(after_help = "Example: congenial plan study.toml --set grid.epsilon=[0.1]")]
    Plan(plan::Arguments),
    /// Draw each method of a config briefly, and check its invariant and its law
    #[command(after_help = "Example: congenial verify study.toml")]
    Verify(verify::Arguments),
    /// Prove from releases what each method pays at least, beside what it states
    #[command(after_help = "Example: congenial audit study.toml --draws 100000")]
    Audit(audit::Arguments),
    /// Print what finished runs gave: text, markdown, HTML, LaTeX, figures or all rows
    #[command(after_help = "Example: congenial report results/taxi-quick-* --format html -o taxi.html")]
    Report(report::Arguments),
    /// Say what a release tells of the counts: intervals of nodes and districts from a noisy file
    #[command(after_help = "Example: congenial infer release.parquet --queries districts.csv --level 9/10")]
    Infer(infer::Arguments),
    /// Keep what all releases of a data set pay together: open, show or verify its ledger
    #[command(
        after_help = "Example: congenial ledger new trips.ledger --unit \"one trip\" --limit 'epsilon = 3'"
    )]
    Ledger(ledger::Arguments),
    /// Release real counts: plan, validate, make and check (their ledger is `congenial ledger`)
    Release(release::Arguments),
    /// Compare two finished runs, cell by cell
    #[command(after_help = "Example: congenial compare results/before results/after --margin 0.02")]
    Compare(compare::Arguments),
    /// Print the number of rows and a hash of their values, for every table of finished runs
    #[command(after_help = "Example: congenial digest results/taxi-quick-*")]
    Digest(digest::Arguments),
    /// Count raw records by some columns, or by the rows of another table: makes the data table of a config
    #[command(
        after_help = "Examples: congenial aggregate persons.csv --by region,municipality,age,sex --out counts.csv\n          \
            congenial aggregate trips.parquet --key zone --lookup zones.csv --lookup-key id --out counts.csv"
    )]
    Aggregate(aggregate::Arguments),
    /// Simulate negative binomial counts for the rows of a table (the layout)
    #[command(
        after_help = "Example: congenial simulate layout.csv --size 2 --mean 10 --seed 1 --out counts.csv"
    )]
    Simulate(simulate::Arguments),
    /// List the noise laws and methods that a config can name, with their options
    #[command(after_help = "Example: congenial methods")]
    Methods,
    /// Print the JSON schema of configs, for editors
    #[command(after_help = "Example: congenial schema >congenial.schema.json")]
    Schema,
    /// Show the manual page of the tool, or of a verb
    #[command(after_help = "Example: congenial man run")]
    Man(man::Arguments),
    /// Become a method's program, which ends with this one; or guard what programs start
    #[command(name = crate::own::starting::VERB, hide = true)]
    OwnMethod {
        /// The number of this process
        #[arg(long, default_value_t = 0)]
        parent: u32,
        /// Wait for the end of standard input, and end what has this mark
        #[arg(long, conflicts_with = "command")]
        guard: Option<String>,
        /// The program with its arguments
        #[arg(last = true, required_unless_present = "guard")]
        command: Vec<String>,
    },
    /// Print a shell's completion script
    #[command(
        after_help = "Example: congenial completions bash >~/.local/share/bash-completion/completions/congenial"
    )]
    Completions(completions::Arguments),
}

/// Parses the arguments, does what they ask, and returns the exit code ([`crate::failure::Failure::exit_code`]).
pub fn main() -> ExitCode {
    crate::own::starting::supervise();
    ExitCode::from(main_with(std::env::args_os()))
}

/// Does what other arguments ask, the first of which is the name of the command, and returns the exit code as [`main`]
/// does; what is wrong with them, and what asks for help, ends the process.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let verb = Cli::parse_from(arguments).verb;
    // A panic is a bug, and has said so by itself.
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| act(verb)));
    crate::own::ending::end_all();
    match done {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            let code = failure.exit_code();
            let _ = writeln!(std::io::stderr(), "{:?}", miette::Report::new(failure.for_people()));
            code
        }
        Err(_) => {
            say!("this is a bug of congenial, please report it");
            1
        }
    }
}

fn act(verb: Verb) -> crate::failure::Result<()> {
    match verb {
        Verb::Init(arguments) => init::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Merge(arguments) => merge::run(arguments),
        Verb::Submit(arguments) => submit::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
        Verb::Audit(arguments) => audit::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Infer(arguments) => infer::run(&arguments),
        Verb::Ledger(arguments) => ledger::run(&arguments),
        Verb::Release(arguments) => release::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Digest(arguments) => digest::run(&arguments),
        Verb::Aggregate(arguments) => aggregate::run(&arguments),
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Methods => methods::run(),
        Verb::Schema => schema::run(),
        Verb::Man(arguments) => man::run(&arguments),
        Verb::OwnMethod { guard: Some(mark), .. } => {
            crate::own::ending::guard(&mark);
            Ok(())
        }
        Verb::OwnMethod { command, parent, .. } => {
            Err(crate::failure::Failure::Wrong(crate::own::starting::become_program(&command, parent)))
        }
        Verb::Completions(arguments) => completions::run(&arguments),
    }
}

/// A number of an argument that is neither 0 nor 1. Errors: another.
fn probability(flag: &str, x: f64) -> crate::failure::Result<f64> {
    match x > 0.0 && x < 1.0 {
        true => Ok(x),
        false => Err(crate::failure::Failure::Usage(format!("{flag}: got {x}, want a number in (0, 1)"))),
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

/// Formats of a page of words and tables.
const PAGES: [Format; 4] = [Format::Text, Format::Markdown, Format::Html, Format::Latex];

/// Reads one of some formats.
fn among<const N: usize>(formats: [Format; N]) -> impl TypedValueParser<Value = Format> {
    let names = formats.into_iter().filter_map(|format| format.to_possible_value());
    PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
}

/// Prints a page, or writes it to a file in place of what is there.
fn show(page: &Page, title: &str, format: Format, output: Option<&Path>) -> crate::failure::Result<()> {
    let text = |width: usize| match format {
        Format::Markdown => Ok(page.to_markdown()),
        Format::Latex => Ok(page.to_latex()),
        Format::Html => page.to_html(title),
        _ => Ok(page.to_text(width)),
    };
    let Some(file) = output else { return print(&text(page::terminal())?) };
    let text = text(page::COLUMNS)?;
    let failed = |e| crate::failure::Failure::write(file, e);
    replace_at(file, |out| out.write_all(text.as_bytes()).map_err(failed))
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
