//! The structure of the sources, counted: circles of files, arrows back between modules, and names that should stay at home.
//!
//! An arrow goes from a file to the file that defines what it takes by a `use` line or a path; a re-export is followed
//! to where the name comes from. Tests in the sources do not count, nor what the `mod.rs` of a folder takes from the
//! files beside it: it is their door.
//!
//! Each number has its limit, which is what was reached last, and may only fall: `cargo test --test all house --
//! --nocapture` prints them all.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

/// Top-level modules of a crate in the order of its data flow: one takes from those before it alone.
type Order = &'static [&'static str];

/// The core.
const CORE: Order = &[
    "error",
    "crew",
    "pace",
    "rng",
    "fourier",
    "law",
    "lattice",
    "invariant",
    "closed_form",
    "diagnostics",
    "exact",
    "inference",
    "kernel",
    "chain",
    "coupling",
    "imaging",
    "cube",
    "design",
    "sdc",
    "privacy",
    "methods",
    "against",
    "oracle",
    "testing",
];

/// The harness, at the root.
const HARNESS: Order = &[
    "escape",
    "failure",
    "files",
    "hash",
    "machine",
    "figure",
    "page",
    "table",
    "own",
    "catalogue",
    "input",
    "config",
    "store",
    "grid",
    "engine",
    "infer",
    "release",
    "study",
    "making",
    "verify",
    "audit",
    "optimise",
    "report",
    "cluster",
    "cli",
];

/// Rooms of `study` that are of one study; the others are shared, and take nothing from these.
const STUDIES: &[&str] =
    &["release", "meeting", "privacy", "profile", "frontier", "coverage", "composition", "cube"];

/// The only file that names studies.
const STUDY_DOOR: &str = "study/mod.rs";

/// Where methods and laws are at home: in the core, and in words in the harness.
const HOMES: [&str; 2] = ["methods/", "catalogue/"];

#[test]
fn the_house_is_no_worse_than_it_was() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = House::read(&root.join("crates/core/src"));
    let house = House::read(&root.join("src"));
    let circles = core.circles().into_iter().chain(house.circles());
    let circle = circles.max_by_key(Vec::len).unwrap_or_default();
    let back = [core.back(CORE), house.back(HARNESS)].concat();
    let shared = house.shared();
    let naming = |kinds| [core.naming(kinds), house.naming(kinds)].concat();
    let methods = naming(&["Method", "MethodKind"]);
    let laws = naming(&["LawKind"]);
    let sources = Text::of_folders(&root.join("src"), &[root.join("crates"), root.join("python/src")]);
    // (what, found, most, wanted)
    let rows = [
        ("files in the largest circle", circle, 2, 2),
        ("arrows back between modules", back, 0, 0),
        ("arrows from shared files of `study` into one study", shared, 0, 0),
        ("files that name a method away from home", methods, 2, 2),
        ("files that name a law away from home", laws, 0, 0),
        ("functions of more than 80 lines", sources.long_functions(80), 1, 1),
        ("lines of more than 140 characters", sources.long_lines(140), 0, 0),
    ];
    let mut worse = Vec::new();
    for (what, found, most, wanted) in rows {
        println!("{:>4} (at most {most}, wanted {wanted}) {what}", found.len());
        if found.len() > most {
            worse.push(format!("{what}: {}, at most {most}:\n  {}", found.len(), found.join("\n  ")));
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn arrows_are_found() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod inner; pub use inner::Deep; use inner::Deep as D;"),
        (
            "a/inner.rs",
            "use crate::b::{self, Other}; // use crate::c::X;\n#[cfg(test)] mod tests { use crate::c::X; }",
        ),
        ("b.rs", "fn f() -> char { let _ = \"crate::c::X\"; 'x'; '\\''; super::a::Deep::new() }"),
        ("c.rs", "fn g<'a>(x: &'a str) {} const M: Method = Method::Exact;"),
    ];
    let house = House::of(files.map(|(file, text)| (file.to_owned(), text.to_owned())));
    assert_eq!(house.circles(), [["a/inner.rs", "b.rs"]]);
    assert_eq!(house.naming(&["Method"]), ["c.rs: Method::Exact"]);
    assert!(house.arrows["c.rs"].is_empty());
}

#[test]
fn long_functions_and_lines_are_found() {
    let body = "    1\n".repeat(4);
    let text = format!(
        "fn short() {{}}\n/// {}\nimpl X {{\n    pub(super) fn long(\n    ) {{\n{body}    }}\n}}\n",
        "x".repeat(20)
    );
    let sources = Text(vec![("a.rs".into(), text)]);
    assert_eq!(
        (sources.long_functions(6), sources.long_functions(7)),
        (vec!["a.rs:4: 7 lines".into()], vec![])
    );
    assert_eq!(
        (sources.long_lines(23), sources.long_lines(24)),
        (vec!["a.rs:2: 24 characters".into()], vec![])
    );
}

/// Sources as text, by their paths.
struct Text(Vec<(String, String)>);

impl Text {
    /// Everything that ends in `.rs` in some folders, tests and benchmarks included.
    fn of_folders(first: &Path, more: &[std::path::PathBuf]) -> Self {
        let mut folders = vec![first.to_owned()];
        folders.extend_from_slice(more);
        let mut texts = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).expect("a source");
                    texts.push((path.display().to_string(), text));
                }
            }
        }
        texts.sort();
        Self(texts)
    }

    /// Functions with more lines than that, as `rustfmt` has them: to the brace that closes them, below their first letter.
    fn long_functions(&self, most: usize) -> Vec<String> {
        let mut found = Vec::new();
        for (name, text) in &self.0 {
            let lines: Vec<&str> = text.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                let code = line.trim_start();
                let words: Vec<&str> =
                    code.split([' ', '(']).take_while(|word| !word.contains('/')).collect();
                let is_word = |word: &&str| {
                    ["const", "unsafe", "async", "extern", "super)", "crate)"].contains(word)
                        || word.starts_with("pub")
                };
                if words.iter().find(|word| !is_word(word)) != Some(&"fn") {
                    continue;
                }
                let end = format!("{}}}", &line[..line.len() - code.len()]);
                let ends = |other: &&str| **other == end || other.starts_with(&format!("{end} "));
                let one = line.ends_with(['}', ';']);
                let length = if one {
                    1
                } else {
                    1 + lines[i + 1..].iter().take_while(|line| !ends(line)).count() + 1
                };
                if length > most {
                    found.push(format!("{name}:{}: {length} lines", i + 1));
                }
            }
        }
        found
    }

    /// Lines with more characters than that.
    fn long_lines(&self, most: usize) -> Vec<String> {
        let lines =
            self.0.iter().flat_map(|(name, text)| text.lines().enumerate().map(move |line| (name, line)));
        let long = lines.filter(|(_, (_, line))| line.chars().count() > most);
        long.map(|(name, (i, line))| format!("{name}:{}: {} characters", i + 1, line.chars().count()))
            .collect()
    }
}

/// The files of a folder of sources, and what each takes from which.
struct House {
    files: BTreeMap<String, File>,
    arrows: BTreeMap<String, BTreeSet<String>>,
}

/// A file, without its tests.
struct File {
    /// Words and signs.
    tokens: Vec<String>,
    /// Its `use` lines, path by path, and whether each hands the name on.
    uses: Vec<(Vec<String>, bool)>,
    /// The modules that it declares.
    children: Vec<String>,
}

impl House {
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ext| ext == "rs") {
                    let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                    files.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        Self::of(files)
    }

    fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut tests = Vec::new();
        let read = |(name, text): (String, String)| {
            let (file, own_tests) = File::new(&text);
            tests.extend(own_tests.into_iter().map(|test| [module(&name), vec![test]].concat()));
            (name, file)
        };
        let mut files: BTreeMap<String, File> =
            files.into_iter().filter(|(name, _)| name != "main.rs").map(read).collect();
        files.retain(|name, _| !tests.iter().any(|test| module(name).starts_with(test)));
        let modules = files.keys().map(|name| (module(name), name.clone())).collect();
        let arrows = files.keys().map(|name| (name.clone(), taken(&files, &modules, name))).collect();
        Self { files, arrows }
    }

    /// Files that can reach each other, two or more.
    fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            self.files.keys().map(|file| (file, self.reached(file))).collect();
        let circle = |file: &String| -> Vec<String> {
            let back = |other: &&&String| reached[*other].contains(file);
            reached[file].iter().filter(back).map(|other| (*other).clone()).collect()
        };
        let circles: BTreeSet<Vec<String>> =
            self.files.keys().map(circle).filter(|circle| circle.len() > 1).collect();
        circles.into_iter().collect()
    }

    /// The files to which arrows lead from one.
    fn reached<'a>(&'a self, from: &'a String) -> BTreeSet<&'a String> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(self.arrows[file].iter().filter(|to| reached.insert(*to)));
        }
        reached
    }

    fn each_arrow(&self) -> impl Iterator<Item = (&String, &String)> {
        self.arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)))
    }

    /// Arrows against an order, and modules that it does not know.
    fn back(&self, order: Order) -> Vec<String> {
        let place = |file: &str| order.iter().position(|module| *module == top(file));
        let against = |(from, to): &(&String, &String)| place(from) < place(to) && *from != "lib.rs";
        let against = self.each_arrow().filter(against).map(|(from, to)| format!("{from} -> {to}"));
        let unknown = self.files.keys().filter(|file| *file != "lib.rs" && place(file).is_none());
        against.chain(unknown.map(|file| format!("no place in the data flow: {file}"))).collect()
    }

    /// Arrows from what the studies share into one of them.
    fn shared(&self) -> Vec<String> {
        let of_one = |file: &str| {
            file.strip_prefix("study/")
                .is_some_and(|rest| STUDIES.iter().any(|study| rest.starts_with(study)))
        };
        let from_shared = |(from, to): &(&String, &String)| {
            from.starts_with("study/") && *from != STUDY_DOOR && !of_one(from) && of_one(to)
        };
        self.each_arrow().filter(from_shared).map(|(from, to)| format!("{from} -> {to}")).collect()
    }

    /// Files away from home that name one of these, with the first of them.
    fn naming(&self, kinds: &[&str]) -> Vec<String> {
        let named = |(name, file): (&String, &File)| {
            let variant = file.tokens.windows(3).find(|window| {
                let [kind, colons, variant] = window else { return false };
                let is_one = variant.starts_with(char::is_uppercase) && variant != "ALL";
                kinds.contains(&&**kind) && colons == "::" && is_one
            })?;
            (!HOMES.iter().any(|home| name.starts_with(home)))
                .then(|| format!("{name}: {}", variant.concat()))
        };
        self.files.iter().filter_map(named).collect()
    }
}

/// The module of a file.
fn module(file: &str) -> Vec<String> {
    let mut path: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// The top-level module of a file.
fn top(file: &str) -> String {
    module(file).into_iter().next().unwrap_or_else(|| "error".to_owned())
}

type Modules = BTreeMap<Vec<String>, String>;

/// The files from which one takes something.
fn taken(files: &BTreeMap<String, File>, modules: &Modules, name: &str) -> BTreeSet<String> {
    let file = &files[name];
    let names: HashSet<&String> = file.tokens.iter().collect();
    // What is handed on is taken where it is used as well.
    let is_taken = |(path, handed_on): &&(Vec<String>, bool)| {
        !handed_on || path.last().is_some_and(|last| names.contains(last))
    };
    let paths = file.uses.iter().filter(is_taken).map(|(path, _)| path.clone()).chain(file.paths());
    let door = module(name);
    let behind = |to: &String| {
        let to_module = module(to);
        to_module.len() == door.len() + 1 && to_module.starts_with(&door) && !to.ends_with("mod.rs")
    };
    let homes = paths.filter_map(|path| home(files, modules, &absolute(file, name, &path)?, 0));
    homes.filter(|to| to != name && to != "lib.rs" && !behind(to)).collect()
}

/// A path from the root; `None` if it leads outside.
fn absolute(file: &File, name: &str, path: &[String]) -> Option<Vec<String>> {
    let mut base = module(name);
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([&base, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            base.truncate(base.len().saturating_sub(ups));
            Some([&base, &path[ups..]].concat())
        }
        first if file.children.iter().any(|child| child == first) => Some([&base, path].concat()),
        _ => None,
    }
}

/// The file that defines what a path names.
fn home(files: &BTreeMap<String, File>, modules: &Modules, path: &[String], depth: usize) -> Option<String> {
    let inner = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    let name = &modules[&path[..inner]];
    let file = &files[name];
    let handed = path.get(inner).filter(|_| depth < 8).and_then(|wanted| {
        let (from, _) = file.uses.iter().find(|(from, on)| *on && from.last() == Some(wanted))?;
        let from = absolute(file, name, from).filter(|from| from != path)?;
        home(files, modules, &[&from, &path[inner + 1..]].concat(), depth + 1)
    });
    Some(handed.unwrap_or_else(|| name.clone()))
}

impl File {
    /// Reads the text of a file; returns the modules that it declares for tests alone, too.
    fn new(text: &str) -> (Self, Vec<String>) {
        let (tokens, tests) = without_tests(tokens(text));
        let (mut rest, mut uses, mut children) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(0);
                let handed_on = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                let mut paths = Vec::new();
                spread(&tokens[at + 1..end], &[], &mut paths);
                uses.extend(paths.into_iter().map(|path| (path, handed_on)));
                at = end;
            } else if tokens[at] == "mod" && tokens.get(at + 2).is_some_and(|token| token == ";") {
                children.push(tokens[at + 1].clone());
            }
            rest.push(tokens[at].clone());
            at += 1;
        }
        (Self { tokens: rest, uses, children }, tests)
    }

    /// Paths in the code that begin in the crate or in a module that it declares.
    fn paths(&self) -> impl Iterator<Item = Vec<String>> {
        let begins = |i: usize| {
            let token = &self.tokens[i];
            let known = matches!(&**token, "crate" | "self" | "super") || self.children.contains(token);
            let before = i.checked_sub(1).map_or("", |before| &self.tokens[before]);
            known
                && !matches!(before, "::" | "." | "$" | "in")
                && self.tokens.get(i + 1).is_some_and(|next| next == "::")
        };
        (0..self.tokens.len()).filter(move |&i| begins(i)).map(|i| {
            let more = self.tokens[i + 1..].chunks(2).take_while(|pair| pair[0] == "::" && pair.len() == 2);
            std::iter::once(self.tokens[i].clone()).chain(more.map(|pair| pair[1].clone())).collect()
        })
    }
}

/// The paths of a `use` line; of `a as b` that of `a`.
fn spread(tokens: &[String], before: &[String], paths: &mut Vec<Vec<String>>) {
    let open = tokens.iter().position(|token| token == "{");
    let plain = open.unwrap_or(tokens.len());
    let words = tokens[..plain].iter().take_while(|token| *token != "as").filter(|token| *token != "::");
    let path = [before, &words.cloned().collect::<Vec<_>>()].concat();
    let Some(open) = open else {
        let is_self = path.last().is_some_and(|last| last == "self") && path.len() > 1;
        return paths.push(path[..path.len() - usize::from(is_self)].to_vec());
    };
    let (mut depth, mut start) = (0, open + 1);
    for (i, token) in tokens.iter().enumerate().skip(open + 1) {
        match &**token {
            "{" => depth += 1,
            "}" if depth > 0 => depth -= 1,
            "," | "}" if depth == 0 => {
                if start < i {
                    spread(&tokens[start..i], &path, paths);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
}

/// Without what stands behind `#[cfg(test)]`; with the files that are declared there.
fn without_tests(tokens: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (mut rest, mut tests) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(7).map(String::as_str).eq(["#", "[", "cfg", "(", "test", ")", "]"]) {
            let (mut depth, start) = (0, at + 7);
            at = start;
            loop {
                match tokens.get(at).map(String::as_str) {
                    Some("{") => depth += 1,
                    Some("}") => depth -= 1,
                    None => break,
                    _ => {}
                }
                at += 1;
                if depth == 0 && matches!(&*tokens[at - 1], ";" | "}") {
                    break;
                }
            }
            if let [.., module, name, end] = &tokens[start..at]
                && (&**module, &**end) == ("mod", ";")
            {
                tests.push(name.clone());
            }
        } else {
            rest.push(tokens[at].clone());
            at += 1;
        }
    }
    (rest, tests)
}

/// Words and signs of a text, without comments, texts and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let at = |i: usize| chars.get(i).copied().unwrap_or(' ');
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        match chars[i] {
            '/' if at(i + 1) == '/' => i += chars[i..].iter().take_while(|c| **c != '\n').count(),
            'r' if at(i + 1) == '"' || (at(i + 1) == '#' && matches!(at(i + 2), '#' | '"')) => {
                let marks = chars[i + 1..].iter().take_while(|c| **c == '#').count();
                let end: String = format!("\"{}", "#".repeat(marks));
                let rest: String = chars[i + marks + 2..].iter().collect();
                let length =
                    rest.find(&end).map_or(rest.chars().count(), |byte| rest[..byte].chars().count());
                i += marks + 2 + length + end.len();
            }
            '"' => {
                i += 1;
                while i < chars.len() && chars[i] != '"' {
                    i += 1 + usize::from(chars[i] == '\\');
                }
                i += 1;
            }
            '\'' if at(i + 1) == '\\' => i += 4 + chars[i + 3..].iter().take_while(|c| **c != '\'').count(),
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i += 1 + chars[i + 1..].iter().take_while(|c| word(**c)).count(),
            ':' if at(i + 1) == ':' => {
                tokens.push("::".to_owned());
                i += 2;
            }
            c if word(c) => {
                let length = chars[i..].iter().take_while(|c| word(**c)).count();
                tokens.push(chars[i..i + length].iter().collect());
                i += length;
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                i += 1;
            }
        }
    }
    tokens
}
