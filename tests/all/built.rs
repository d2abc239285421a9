//! What the commands of the README build and fetch: nothing of polars, which `crates/frames` alone stands on.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

fn read(path: &str) -> toml::Table {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}")).parse().unwrap()
}

fn texts(value: Option<&toml::Value>) -> Vec<&str> {
    value.and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

/// Every package that those of some folders stand on, by the lock file: of every kind, feature and target, so that it is more than what is
/// ever built of them.
fn reached(folders: &[&str]) -> BTreeSet<String> {
    let lock = read("Cargo.lock");
    let mut packages: BTreeMap<&str, Vec<(&str, Vec<&str>)>> = BTreeMap::new();
    for package in lock["package"].as_array().unwrap() {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap());
        packages.entry(name).or_default().push((version, texts(package.get("dependencies"))));
    }
    let manifests = folders.iter().map(|folder| read(&format!("{folder}/Cargo.toml")));
    let mut next: Vec<String> =
        manifests.map(|manifest| manifest["package"]["name"].as_str().unwrap().to_owned()).collect();
    let mut reached = BTreeSet::new();
    while let Some(one) = next.pop() {
        if reached.insert(one.clone()) {
            // A name, and a version where there are several.
            let mut words = one.split(' ');
            let (name, version) = (words.next().unwrap(), words.next());
            let of_version =
                packages[name].iter().filter(|(own, _)| version.is_none_or(|wanted| wanted == *own));
            next.extend(of_version.flat_map(|(_, on)| on.iter().map(|name| (*name).to_owned())));
        }
    }
    reached
}

#[test]
fn the_commands_of_the_readme_build_no_polars() {
    let root = read("Cargo.toml");
    let [members, built] = ["members", "default-members"].map(|key| texts(root["workspace"].get(key)));
    let frames = "crates/frames";
    assert!(members.contains(&frames) && !built.contains(&frames));
    let polars =
        |folders: &[&str]| reached(folders).into_iter().filter(|name| name.starts_with("polars")).count();
    assert_eq!(polars(&built), 0);
    assert_eq!(polars(&["python"]), 0);
    assert!(polars(&[frames]) > 10);
}

/// What takes all crates of the workspace leaves it out, and a commit is checked without it.
#[test]
fn checks_of_a_commit_build_no_polars() {
    let scripts = fs::read_dir("scripts").unwrap().map(|entry| entry.unwrap().path());
    for path in scripts.chain([".ci/run".into()]).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("--workspace")) {
            assert!(line.contains("--exclude congenial-frames"), "{}: {line}", path.display());
        }
        let is_checked =
            ["run", "check", "test", "smoke", "python", "schemas"].iter().any(|name| path.ends_with(name));
        let builds = ["congenial-frames", "scripts/tables"].iter().any(|name| text.contains(name));
        assert!(!(is_checked && builds), "{}", path.display());
    }
}
