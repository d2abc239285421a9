//! A Kubernetes indexed job.

use super::{Job, Word};
use serde_json::{Value, json};

/// What pods need beside the tasks.
#[derive(Debug)]
pub struct Pods {
    /// Image that holds the program.
    pub image: Word,
    /// Persistent volume claim, which many nodes may write.
    pub claim: Word,
    /// Where the claim is mounted.
    pub mount: Word,
}

/// Two jobs for `kubectl create -f` (JSON, as YAML takes it): an indexed job, whose pods each draw a shard and are tried again one
/// by one, and a job that waits for them and merges.
pub fn kubernetes(job: &Job, pods: &Pods) -> String {
    let tasks = job.tasks.len();
    let shard = ["--shard".to_owned(), format!("auto/{tasks}")];
    let draw = [std::slice::from_ref(&job.program.0), &job.draw()[..], &shard].concat();
    // 6: parts are missing still.
    let merge = format!(
        "until {}; do code=$?; [ $code -eq 6 ] || exit $code; sleep 30; done",
        job.line(&job.merge())
    );
    let merge = ["sh", "-c", &merge].map(str::to_owned).to_vec();
    let seconds = job.minutes() * 60;
    let spec = json!({
        "completionMode": "Indexed",
        "completions": tasks,
        "parallelism": tasks,
        "backoffLimitPerIndex": 3,
    });
    let draw = object(job, pods, "draw", draw, spec, Some(seconds));
    // The merge waits while tasks are in the queue, a week at most.
    let spec = json!({ "backoffLimit": 3, "activeDeadlineSeconds": 7 * 24 * 3600 });
    let merge = object(job, pods, "merge", merge, spec, None);
    let text = |object| serde_json::to_string_pretty(&object).expect("plain values");
    format!("{}\n---\n{}\n", text(draw), text(merge))
}

fn object(
    job: &Job,
    pods: &Pods,
    step: &str,
    command: Vec<String>,
    mut spec: Value,
    seconds: Option<u64>,
) -> Value {
    // Most of the merge's time it waits.
    let least = if step == "merge" { 1 } else { job.threads };
    let [mut requests, mut limits] = [least, job.threads].map(|cpu| json!({ "cpu": cpu.to_string() }));
    if let Some(mib) = job.memory {
        requests["memory"] = json!(format!("{mib}Mi"));
        limits["memory"] = requests["memory"].clone();
    }
    // Kubernetes reads $(NAME) as a variable, and $$ as a dollar sign.
    let command: Vec<String> = command.iter().map(|word| word.replace('$', "$$")).collect();
    let container = json!({
        "name": step,
        "image": pods.image.0,
        "command": command,
        "resources": { "requests": requests, "limits": limits },
        "volumeMounts": [{ "name": "work", "mountPath": pods.mount.0 }],
    });
    let labels = json!({
        "app.kubernetes.io/name": "congenial",
        "app.kubernetes.io/instance": instance(job),
        "app.kubernetes.io/component": step,
    });
    spec["template"] = json!({
        "metadata": { "labels": labels },
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [{ "name": "work", "persistentVolumeClaim": { "claimName": pods.claim.0 } }],
        },
    });
    if let Some(seconds) = seconds {
        spec["template"]["spec"]["activeDeadlineSeconds"] = json!(seconds);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": format!("{}-{step}", instance(job)),
            "labels": labels,
            "annotations": { "congenial/about": job.words(), "congenial/out": job.out.0 },
        },
        "spec": spec,
    })
}

/// A name as Kubernetes wants it: a DNS label, with room for the steps and the indices of pods.
fn instance(job: &Job) -> String {
    let plain = job.name.to_ascii_lowercase().replace('_', "-");
    let short: String = plain.trim_matches('-').chars().take(36).collect();
    let short = short.trim_end_matches('-');
    format!("{}-{}", if short.is_empty() { "run" } else { short }, &job.config_hash[..8])
}
