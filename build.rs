//! Tells the binary what it was built from. Works without git: then the commit is unknown.

use std::process::Command;

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    let commit = output("git", &["rev-parse", "HEAD"]).unwrap_or_default();
    let dirty = match output("git", &["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !commit.is_empty() => {
            if changes.is_empty() {
                "no"
            } else {
                "yes"
            }
        }
        _ => "unknown",
    };
    let rustc = std::env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    println!("cargo::rustc-env=CONGENIAL_GIT_COMMIT={commit}");
    println!("cargo::rustc-env=CONGENIAL_GIT_DIRTY={dirty}");
    println!("cargo::rustc-env=CONGENIAL_RUSTC={}", rustc.unwrap_or_default());
    println!("cargo::rustc-env=CONGENIAL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    for path in [".git/HEAD", ".git/index", "src", "Cargo.toml", "Cargo.lock", "build.rs"] {
        // A path that is not there would count as changed at every build.
        if std::path::Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
