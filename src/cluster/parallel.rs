//! GNU parallel: on one machine, or on several by ssh.

use super::{Job, quote};

/// A script that runs the tasks one at a time on every machine, then the merge. Its own arguments go to `parallel`
/// (`--sshloginfile`, `--jobs`, …). Run again it draws what is missing.
///
/// `None` if a path has braces: GNU parallel would read some of them.
pub fn parallel(job: &Job) -> Option<String> {
    let (words, tasks) = (job.words(), job.tasks.len());
    // A line for the shell that parallel starts, as one word of this one.
    let draw = quote(&format!("exec {} --shard @SHARD@/{tasks}", job.line(&job.draw())));
    let merge = job.line(&job.merge());
    if draw.contains('{') {
        return None;
    }
    Some(format!(
        "#!/bin/sh
# {words}
# Run by: sh THIS-FILE [options of GNU parallel, such as --sshloginfile NODES or --jobs 2]
# All machines share the folder. Run again, it draws what is missing.
set -eu
{complete}
seq 1 {tasks} | parallel --jobs 1 -I @SHARD@ --line-buffer --tag \"$@\" \\
    {draw}
{merge}
",
        complete = job.unless_complete(),
    ))
}
