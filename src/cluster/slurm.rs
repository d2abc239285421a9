//! A Slurm job array.

use super::{Job, quote};

/// A script that submits the job array and the merge, which waits for all of its tasks. Its own arguments go to `sbatch`
/// (`--partition`, `--account`, …). Submitted again it draws only what is missing.
pub fn slurm(job: &Job) -> String {
    let (words, tasks, threads, minutes) = (job.words(), job.tasks.len(), job.threads, job.minutes());
    let memory = job.memory.map_or(String::new(), |mib| format!(" --mem={mib}M"));
    let folder = job.logs();
    let logs = quote(&folder);
    // Percent signs in the path of a log file would be read by Slurm.
    let log = quote(&folder.replace('%', "%%"));
    let name = quote(&job.name);
    let shard = [&job.draw()[..], &["--shard".into(), "auto".into()]].concat();
    let (draw, merge) = (job.line(&shard), job.line(&job.merge()));
    format!(
        "#!/bin/sh
# {words}
# Submit by: sh THIS-FILE [options of sbatch, such as --partition=…]
# Tasks that ended early are submitted again by the same command; they go on from what is drawn.
set -eu
{complete}
mkdir -p {logs}
draw=$(sbatch --parsable --job-name={name} --array=1-{tasks} --cpus-per-task={threads}{memory} --time={minutes} \\
    --requeue --open-mode=append --output={log}/%A_%a.txt \"$@\" <<'TASK'
#!/bin/sh
exec {draw}
TASK
)
draw=${{draw%%;*}}
merge=$(sbatch --parsable --job-name={name}-merge --dependency=afterok:\"$draw\" --kill-on-invalid-dep=yes \\
    --cpus-per-task={threads}{memory} --time={minutes} --requeue --open-mode=append --output={log}/%j_merge.txt \"$@\" <<'TASK'
#!/bin/sh
exec {merge}
TASK
)
echo \"array $draw, merge ${{merge%%;*}}; logs in {logs_in_words}\"
",
        complete = job.unless_complete(),
        logs_in_words = folder.replace(['"', '$', '`', '\\'], "?"),
    )
}
