//! `congenial submit`

use super::run;
use crate::cluster::{self, Job, Pods, Word};
use crate::engine;
use crate::failure::{Failure, Result};
use crate::page::counted;
use crate::store::{self, Identity};
use crate::study;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// A script that submits a job array and a merge that depends on it
    Slurm,
    /// A script for one machine, or for several by ssh
    Parallel,
    /// An indexed job and a merge that waits for it, for `kubectl create -f`
    Kubernetes,
}

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// What runs the tasks
    #[arg(long, value_enum)]
    engine: Engine,
    /// Folder of the results, on a file system that all machines share [default: results/<name>-<config hash>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Threads of a task
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Least time of a task, by what the cells take here
    #[arg(long, default_value_t = 10.0, value_name = "MINUTES")]
    minutes: f64,
    /// Most tasks
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    most: u64,
    /// So many tasks, however long they take
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000), conflicts_with_all = ["minutes", "most"])]
    tasks: Option<u64>,
    /// Memory of a task, to be asked for [default: what the cluster gives]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    memory: Option<u64>,
    /// The program on the machines of the cluster [default: this one; in an image: congenial]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Kubernetes: image that holds the program
    #[arg(long)]
    image: Option<String>,
    /// Kubernetes: persistent volume claim with the results and the data
    #[arg(long)]
    claim: Option<String>,
    /// Kubernetes: where the claim is mounted, here and in the pods
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Measures the cells, freezes the plan in the folder that the shards will share, and prints the script. What is refused leaves nothing.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.minutes.is_finite() && arguments.minutes > 0.0) {
        return Err(Failure::Usage(format!("--minutes: got {}, want a number > 0", arguments.minutes)));
    }
    let planned = study::plan(study::load(&arguments.config, &arguments.sets)?)?;
    let about = planned.about();
    let hash = about.config_hash.clone();
    let out = absolute(&crate::making::target(arguments.out.as_deref(), &about.name, &hash))?;
    let mut files = vec![out.clone()];
    for file in planned.inputs() {
        files.push(absolute(&file)?);
    }
    let pods = pods(arguments, &files)?;
    let program = match (&arguments.program, arguments.engine) {
        (Some(program), _) => program.clone(),
        (None, Engine::Kubernetes) => "congenial".into(),
        (None, _) => std::env::current_exe().map_err(|e| {
            Failure::Usage(format!("cannot tell where this program is ({e}): give --program"))
        })?,
    };
    let program = Word::new("--program", program.as_os_str())?;
    for file in planned.inputs() {
        Word::new("the path of an input", absolute(&file)?.as_os_str())?;
    }
    // Before the measurement, so that a folder that is taken costs nothing.
    let identity = Identity::new(&hash, &about.data_digest);
    let (given, resolved) = planned.configs();
    let free = store::free(&out, &identity)?;
    let (place, config) =
        (Word::new("--out", out.as_os_str())?, Word::new("--out", free.config.as_os_str())?);
    let here = run::threads(None);
    let expected = engine::estimate(&*planned, here);
    expected.fits(&about.name, &out)?;
    say!("{}: measuring {}{expected}", about.name, counted(about.cells as f64, "cell"));
    let costs = engine::measure(&*planned, here)?;
    let threads = usize::from(arguments.threads);
    let tasks = match arguments.tasks {
        Some(of) => engine::shards(&*planned, &costs, threads, of),
        None => engine::tasks(&*planned, &costs, threads, arguments.minutes * 60.0, arguments.most),
    };
    let name = about.name;
    let memory = arguments.memory;
    let job = Job {
        name,
        config_hash: hash,
        program,
        config,
        out: place,
        tasks,
        threads: arguments.threads,
        memory,
    };
    let text = match pods {
        Some(pods) => cluster::kubernetes(&job, &pods),
        None if arguments.engine == Engine::Slurm => cluster::slurm(&job),
        None => cluster::parallel(&job),
    };
    free.freeze(&given, &resolved)?;
    super::print(&text)?;
    let (least, most) = job.seconds();
    say!(
        "tasks: {} of {least:.1} to {most:.1} s on {threads} threads; the plan is frozen in {}",
        job.tasks.len(),
        free.config.parent().unwrap_or(&free.config).display()
    );
    if job.tasks.len() == 1 && arguments.tasks.is_none() {
        say!("it is short: `run` on one machine does the same");
    }
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Failure::io(path, "cannot be made absolute", e))
}

/// What Kubernetes needs; `files` must lie on the claim.
fn pods(arguments: &Arguments, files: &[PathBuf]) -> Result<Option<Pods>> {
    let Arguments { image, claim, mount, .. } = arguments;
    let given = [("--image", image.is_some()), ("--claim", claim.is_some()), ("--mount", mount.is_some())];
    if arguments.engine != Engine::Kubernetes {
        return match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Failure::Usage(format!("{name}: only `--engine kubernetes` takes it"))),
            None => Ok(None),
        };
    }
    let (Some(image), Some(claim), Some(mount)) = (image, claim, mount) else {
        let missing: Vec<&str> = given.iter().filter(|(_, given)| !given).map(|(name, _)| *name).collect();
        return Err(Failure::Usage(format!("--engine kubernetes: want {}", missing.join(", "))));
    };
    let mount = absolute(mount)?;
    if let Some(file) = files.iter().find(|file| !file.starts_with(&mount)) {
        let message = format!("{} does not lie in it, and the pods would not find it", file.display());
        return Err(Failure::Usage(format!("--mount {}: {message}", mount.display())));
    }
    Ok(Some(Pods {
        image: Word::new("--image", image.as_ref())?,
        claim: Word::new("--claim", claim.as_ref())?,
        mount: Word::new("--mount", mount.as_os_str())?,
    }))
}
