//! GNU parallel: on one machine, or on several by ssh.

use super::{Job, quote, quote_path};

/// A script that runs the tasks one at a time on every machine, then the merge. Its own arguments go to `parallel`
/// (`--sshloginfile`, `--jobs`, …). Run again after a failure it runs only the tasks that failed.
pub fn parallel(job: &Job) -> String {
    let (words, tasks) = (job.words(), job.tasks.len());
    let log = quote_path(&job.beside(".joblog"));
    // A line for the shell that parallel starts, as one word of this one.
    let draw = quote(&format!("exec {} --shard @SHARD@/{tasks}", job.line(&job.draw())));
    let merge = job.line(&job.merge());
    format!(
        "#!/bin/sh
# {words}
# Run by: sh THIS-FILE [options of GNU parallel, such as --sshloginfile NODES or --jobs 2]
# All machines share the folder. Run again, it runs the tasks that failed or are missing.
set -eu
seq 1 {tasks} | parallel --jobs 1 -I @SHARD@ --line-buffer --tag --joblog {log} --resume-failed \"$@\" \\
    {draw}
{merge}
rm -f {log}
"
    )
}
