//! Tells the binary what it was built from. Works without git: then the commit is unknown.

use std::io::Write;
use std::process::{Command, Stdio};

/// What a program prints, fed with `input`; `None` if it is not there or fails.
fn output(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        // What is only asked does not write `.git/index`, of which a change builds anew.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn text(output: Option<Vec<u8>>) -> Option<String> {
    output.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn main() {
    let git = |arguments: &[&str]| output("git", arguments, b"");
    let commit = text(git(&["rev-parse", "HEAD"])).unwrap_or_default();
    let changes = text(git(&["status", "--porcelain", "--untracked-files=no"]));
    let dirty = match &changes {
        Some(changes) if !commit.is_empty() => match changes.is_empty() {
            true => "no",
            false => "yes",
        },
        _ => "unknown",
    };
    // Git's hash of the changes as a file: the same changes give the same hash.
    let diff = if dirty == "yes" {
        let diff = git(&["diff", "--no-ext-diff", "--no-color", "--binary", "HEAD"]);
        diff.and_then(|diff| text(output("git", &["hash-object", "--stdin"], &diff)))
    } else {
        None
    };
    let rustc = std::env::var("RUSTC").ok().and_then(|rustc| text(output(&rustc, &["--version"], b"")));
    println!("cargo::rustc-env=CONGENIAL_GIT_COMMIT={commit}");
    println!("cargo::rustc-env=CONGENIAL_GIT_DIRTY={dirty}");
    println!("cargo::rustc-env=CONGENIAL_GIT_DIFF={}", diff.unwrap_or_default());
    println!("cargo::rustc-env=CONGENIAL_RUSTC={}", rustc.unwrap_or_default());
    println!("cargo::rustc-env=CONGENIAL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    // What the command is not made of is left out: the Python package, frames of polars.
    let made_of = [
        "src",
        "crates/core",
        "crates/exact-noise",
        "crates/oracle",
        "crates/worlds",
        "Cargo.toml",
        "Cargo.lock",
        "build.rs",
    ];
    for path in [".git/HEAD", ".git/index"].into_iter().chain(made_of) {
        // A path that is not there would count as changed at every build.
        if std::path::Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
