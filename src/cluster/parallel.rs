//! GNU parallel: on one machine, or on several by ssh.

use super::{Job, quote};

/// A script that runs the tasks one at a time on every machine, then the merge. Its own arguments go to `parallel`
/// (`--sshloginfile`, `--jobs`, …). Run again it draws what is missing.
///
/// What GNU parallel would replace in a path is taken apart by quotes.
pub fn parallel(job: &Job) -> String {
    let (words, tasks) = (job.words(), job.tasks.len());
    // A line for the shell that parallel starts, as one word of this one.
    let draw = quote(&format!("exec {} --shard @SHARD@/{tasks}", job.line_by(apart, &job.draw())));
    let merge = job.line(&job.merge());
    format!(
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
    )
}

/// A word for a shell in which nothing begins as what parallel replaces does: `{1}` is written `'{''1}'`.
fn apart(word: &str) -> String {
    match word.contains(['{', '@']) {
        true => format!("'{}'", word.replace('\'', r"'\''").replace('{', "{''").replace('@', "@''")),
        false => quote(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parallel_replaces_is_taken_apart() {
        assert_eq!(apart("a/b"), "a/b");
        assert_eq!(apart("a{#}'@SHARD@"), r"'a{''#}'\''@''SHARD@'''");
    }
}
