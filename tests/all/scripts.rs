//! What goes into a script comes out of it as it went in: random paths through every engine, with stubs in the engines' places.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TREE, TREE_DATA};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const CONFIG: &str = "name = \"c\"\nseed = 1\nreplicates = 2\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n";

/// Keeps its arguments, each ended by a NUL.
const PROGRAM: &str = "for word in \"$@\"; do printf '%s\\0' \"$word\"; done > \"$KEPT/$$\"\n";
/// Runs the script that it is given.
const SBATCH: &str = "cat > \"$KEPT/script\"\nsh \"$KEPT/script\"\necho 7\n";
/// Replaces what GNU parallel does, and runs the line for every number that it is given.
const PARALLEL: &str = "for line; do :; done\nwhile read -r n; do\n\
    sh -c \"$(printf '%s' \"$line\" | sed \"s/@SHARD@/$n/g; s/{[^}']*}/REPLACED/g\")\"\ndone\n";

fn executable(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A place with a config, the stubs, and folders of a name for the program and the run.
struct Scene {
    place: Place,
    program: String,
    out: String,
}

impl Scene {
    fn new(name: &str) -> Self {
        let place = Place::new(&[("tree.csv", TREE), ("config.toml", &format!("{CONFIG}{TREE_DATA}"))]);
        for folder in ["stubs", "kept", name] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        executable(&place.path("stubs/sbatch"), SBATCH);
        executable(&place.path("stubs/parallel"), PARALLEL);
        let path = |file: &str| place.path(name).join(file).to_str().unwrap().to_owned();
        let (program, out) = (path("program"), path("out"));
        executable(Path::new(&program), PROGRAM);
        Self { place, program, out }
    }

    fn submit(&self, engine: &[&str]) -> String {
        let fixed = ["submit", "config.toml", "--out", &self.out, "--program", &self.program, "--tasks", "2"];
        self.place.prints(&[&fixed, &["--threads", "1", "--engine"][..], engine].concat())
    }

    /// The arguments of all calls of the program while a script runs, in order.
    fn calls(&self, script: &str) -> Vec<Vec<String>> {
        let kept = self.place.path("kept");
        let path = format!("{}:{}", self.place.path("stubs").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("PATH", path).env("KEPT", &kept).current_dir(self.place.path("."));
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        let mut calls = Vec::new();
        for file in std::fs::read_dir(&kept).unwrap() {
            let path = file.unwrap().path();
            if path.file_name() != Some(OsStr::new("script")) {
                let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
                calls.push(text.split_terminator('\0').map(str::to_owned).collect());
            }
            std::fs::remove_file(path).unwrap();
        }
        calls.sort();
        calls
    }

    /// What the program is to be called with: the merge, and the tasks by what ends their arguments.
    fn wanted(&self, shards: &[&str]) -> Vec<Vec<String>> {
        let config = format!("{}.partial/config.resolved.toml", self.out);
        let verb =
            |verb: &str| [verb, &config, "--out", &self.out, "--threads", "1"].map(str::to_owned).to_vec();
        let shard = |shard: &&str| [verb("run"), vec!["--shard".into(), (*shard).into()]].concat();
        std::iter::once(verb("merge")).chain(shards.iter().map(shard)).collect()
    }
}

/// Pieces of names that shells, Slurm, GNU parallel or Kubernetes would read.
fn name() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        " ",
        "'",
        "\"",
        "$",
        "`",
        "\\",
        "{",
        "}",
        "@",
        "#",
        "%",
        ";",
        "&",
        "|",
        "*",
        "?",
        "~",
        "é",
        "(",
        ")",
        "<",
        ">",
        "!",
        "=",
        "-",
        "@SHARD@",
        "{1}",
        "{}",
        "{#}",
        "$(touch no)",
        "`touch no`",
        "$KEPT",
        "$(KEPT)",
        "TASK",
        "%A",
        "\u{202e}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8)
        .prop_map(|some| format!("d{}", some.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arguments_come_out_as_they_went_in(name in name()) {
        let scene = Scene::new(&name);
        let slurm = scene.submit(&["slurm"]);
        prop_assert_eq!(scene.calls(&slurm), scene.wanted(&["auto"]));
        let parallel = scene.submit(&["parallel"]);
        prop_assert_eq!(scene.calls(&parallel), scene.wanted(&["1/2", "2/2"]));
        let mount = scene.place.path(".").to_str().unwrap().to_owned();
        let jobs = scene.submit(&["kubernetes", "--image", "i", "--claim", "c", "--mount", &mount]);
        let commands: Vec<Vec<String>> = jobs
            .split("\n---\n")
            .map(|job| {
                let job: serde_json::Value = serde_json::from_str(job).unwrap();
                let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
                // As Kubernetes reads it: there is no variable of its own in it.
                let word = |word: &serde_json::Value| {
                    let word = word.as_str().unwrap().replace("$$", "\0");
                    assert!(!word.contains("$("), "{word}");
                    word.replace('\0', "$")
                };
                command.as_array().unwrap().iter().map(word).collect()
            })
            .collect();
        prop_assert_eq!(&commands[0], &[std::slice::from_ref(&scene.program), &scene.wanted(&["auto/2"])[1][..]].concat());
        prop_assert_eq!(&commands[1][..2], ["sh", "-c"]);
        prop_assert_eq!(scene.calls(&commands[1][2]), scene.wanted(&[]));
        prop_assert!(!scene.place.path("no").exists());
    }
}

/// What no line of a script can hold is refused by every engine before anything is done, and leaves nothing.
#[test]
fn what_no_script_can_hold_is_refused() {
    let scene = Scene::new("d");
    let mount = scene.place.path(".").to_str().unwrap().to_owned();
    let engines: [&[&str]; 3] =
        [&["slurm"], &["parallel"], &["kubernetes", "--image", "i", "--claim", "c", "--mount", &mount]];
    for (name, wanted) in [
        (&b"x\nTASK\n)\ntouch no; exit #"[..], "newlines and other control characters"),
        (b"x\x1b[31m", "newlines and other control characters"),
        (b"x\xff", "bytes that are not UTF-8"),
    ] {
        for engine in engines {
            for argument in ["--out", "--program"] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_congenial"));
                command.current_dir(scene.place.path(".")).args([
                    "submit",
                    "config.toml",
                    "--tasks",
                    "2",
                    "--engine",
                ]);
                command.args(engine).arg(argument).arg(OsStr::from_bytes(name));
                let output = command.output().unwrap();
                let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
                assert_eq!(output.status.code(), Some(2), "{message}");
                assert!(message.contains(argument) && message.contains(wanted), "{message}");
                assert!(output.stdout.is_empty());
            }
        }
    }
    for more in [["--image", "", "--claim", "c"], ["--image", "i", "--claim", "c\n"]] {
        let fixed = ["submit", "config.toml", "--out", "o", "--engine", "kubernetes", "--mount", &mount];
        scene.place.refuses(&[&fixed[..], &more].concat(), &["want a name"]);
    }
    let mut left: Vec<String> = std::fs::read_dir(scene.place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["config.toml", "d", "kept", "stubs", "tree.csv"]);
}
