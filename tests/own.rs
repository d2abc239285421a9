//! Methods of one's own. This program is the method too: `own method KIND` speaks the protocol, or does what a method must not do.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

#[path = "all/place/mod.rs"]
mod place;

use congenial::imaging::L2;
use congenial::invariant::Hierarchy;
use congenial::law::{DoubleGeometric, Law};
use congenial::study::cells::CellRow;
use congenial::study::release::{ErrorRow, LevelRow, NodeDrawRow};
use place::{MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA};
use std::io::{BufRead, Read, Write};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == "method") {
        return method(&arguments[2]);
    }
    // As the harness of tests: names, and a filter.
    let filter = arguments.iter().skip(1).find(|word| !word.starts_with('-'));
    let tests: [(&str, fn()); 19] = [
        ("noise_is_shared_and_rows_are_kept", noise_is_shared_and_rows_are_kept),
        ("exclusions_name_methods_and_options", exclusions_name_methods_and_options),
        ("wrappers_end_with_what_they_started", wrappers_end_with_what_they_started),
        ("tables_are_served", tables_are_served),
        ("what_goes_wrong_is_the_cells_error", what_goes_wrong_is_the_cells_error),
        ("bad_configs_are_refused", bad_configs_are_refused),
        ("no_program_stays", no_program_stays),
        ("what_programs_start_ends_with_every_verb", what_programs_start_ends_with_every_verb),
        ("what_programs_start_ends_with_signals", what_programs_start_ends_with_signals),
        ("a_run_that_is_stopped_goes_on_without_failures", a_run_that_is_stopped_goes_on_without_failures),
        ("handshakes_that_change_are_refused", handshakes_that_change_are_refused),
        ("keys_are_of_command_options_and_files", keys_are_of_command_options_and_files),
        ("least_squares_in_python_are_l2", least_squares_in_python_are_l2),
        ("sums_in_c_are_sums", sums_in_c_are_sums),
        ("mechanisms_see_the_counts_and_say_what_they_pay", mechanisms_see_the_counts_and_say_what_they_pay),
        ("verify_draws_twice", verify_draws_twice),
        ("a_mechanism_in_python", a_mechanism_in_python),
        ("the_config_with_methods_in_python_runs", the_config_with_methods_in_python_runs),
        ("the_example_in_rust_is_the_whole_program", the_example_in_rust_is_the_whole_program),
    ];
    if arguments.iter().any(|word| word == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    for (name, test) in
        tests.iter().filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter.as_str())))
    {
        test();
        println!("test {name} ... ok");
    }
}

/// A method: `copy` releases what it is given; the others fail, each in its way.
#[allow(clippy::zombie_processes, reason = "a method that leaves what it starts is what is tested")]
fn method(kind: &str) {
    if kind.starts_with("sleeper") {
        std::thread::sleep(std::time::Duration::from_secs(100));
        return;
    }
    // It starts two, one of which leaves its group, and goes on as the kind behind the tag says.
    let kind = match kind.strip_prefix("forks-") {
        None => kind,
        Some(rest) => {
            use std::os::unix::process::CommandExt;
            let (tag, kind) = rest.split_once('-').unwrap();
            for _ in 0..2 {
                let mut sleeper = std::process::Command::new(std::env::current_exe().unwrap());
                sleeper.args(["method", &format!("sleeper-{tag}"), ""]).process_group(0).spawn().unwrap();
                let mut sleeper = std::process::Command::new(std::env::current_exe().unwrap());
                sleeper.args(["method", &format!("sleeper-{tag}"), ""]).spawn().unwrap();
            }
            kind
        }
    };
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut counts, mut line) = (0usize, String::new());
    let take = |input: &mut std::io::StdinLock, n: usize| {
        let mut bytes = vec![0; 8 * n];
        input.read_exact(&mut bytes).unwrap();
        bytes
    };
    let (mut said, mut hellos) = (0, 0);
    loop {
        line.clear();
        if input.read_line(&mut line).unwrap() == 0 {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<usize>().unwrap();
        let answer = match words[0] {
            "congenial" => match kind {
                "mute" => std::process::exit(3),
                "counted" => {
                    hellos += 1;
                    format!("method own {hellos}")
                }
                "numbered" => format!("method own-{} 1", std::process::id()),
                "slow-start" => loop {
                    std::thread::sleep(std::time::Duration::from_secs(1));
                },
                "boaster" => "method own 1 miracles".into(),
                "old" => "error it speaks version 0".into(),
                "integers" | "half" => "method own 1 integers".into(),
                "liar" => "method own 1 integers invariant".into(),
                "truth" | "silent" => "method own 1 integers mechanism".into(),
                "no-options" if words.len() > 2 => format!("error it has no option {}", words[2]),
                _ => "method own 1".to_owned(),
            },
            "structure" if words[1] == "tree" => {
                counts = number(2);
                take(&mut input, counts + number(3) + 1);
                continue;
            }
            "structure" => {
                counts = number(2);
                for (rows, terms) in [(3, 4), (5, 6)].map(|(a, b)| (number(a), number(b))) {
                    take(&mut input, rows + 1 + 2 * terms + rows);
                }
                continue;
            }
            "cell" => {
                take(&mut input, counts);
                match kind {
                    "picky" => "error it wants another law".into(),
                    "truth" => format!("ready added={} delta=1e-9", 2.0 * epsilon(words[3])),
                    "talkative" => "ready added=1".into(),
                    "generous" => "ready added=-1".into(),
                    "unclear" => "ready everything=1".into(),
                    _ => "ready".into(),
                }
            }
            _ => {
                let n = number(2);
                take(&mut input, n);
                let mut bytes = take(&mut input, n * counts);
                said += 1;
                match kind {
                    "waits" => {
                        while !std::path::Path::new("go").exists() {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                        }
                    }
                    "numbered" => std::process::exit(4),
                    "dies" => {
                        eprintln!("my disk is full");
                        std::process::exit(1);
                    }
                    "hangs" => loop {
                        std::thread::sleep(std::time::Duration::from_secs(1));
                    },
                    "floods" => {
                        for i in 0..20_000 {
                            eprintln!("line {i} of what nobody reads");
                        }
                    }
                    "garbage" => {
                        output.write_all(&[b'x'; 100]).unwrap();
                        output.write_all(b"\n").unwrap();
                        output.flush().unwrap();
                        continue;
                    }
                    "short" | "starving" => bytes.truncate(8),
                    "long" => bytes.extend_from_slice(&[0; 16]),
                    "nan" => bytes[..8].copy_from_slice(&f64::NAN.to_le_bytes()),
                    "changeable" => bytes[..8].copy_from_slice(&(n as f64).to_le_bytes()),
                    "constant" => bytes.fill(0),
                    "shifted" => bytes.chunks_exact_mut(8).for_each(|count| {
                        let next = f64::from_le_bytes(count.try_into().unwrap()) + 1.0;
                        count.copy_from_slice(&next.to_le_bytes());
                    }),
                    "half" => bytes[..8].copy_from_slice(&0.5f64.to_le_bytes()),
                    "once" if said > 1 => std::process::exit(0),
                    _ => {}
                }
                let n = if kind == "shapes" { n + 1 } else { n };
                writeln!(output, "released {n}").unwrap();
                output.write_all(&bytes).unwrap();
                output.flush().unwrap();
                if kind == "short" {
                    return;
                }
                continue;
            }
        };
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
    }
}

/// The budget in a word of the protocol.
fn epsilon(word: &str) -> f64 {
    word.strip_prefix("epsilon=").unwrap().parse().unwrap()
}

/// The command of a method of this program, as a config has it.
fn command(kind: &str) -> String {
    format!(
        "command = [{:?}, \"method\", \"{kind}\"]",
        std::env::current_exe().unwrap().display().to_string()
    )
}

fn tree(methods: &str, replicates: u64) -> String {
    format!(
        "name = \"own\"\nseed = 1\nreplicates = {replicates}\n{TREE_DATA}[[grid]]\nepsilon = 0.5\nlaw = \
            \"double-geometric\"\nmethod = [{methods}]\n"
    )
}

/// It has the noise of `unconstrained`, and its rows are those of any other method: for any number of threads, in shards, after a stop.
fn noise_is_shared_and_rows_are_kept() {
    let own = format!(
        "{{ kind = \"external\", {}, name = \"copy\", alpha = [1, 2.5], mode = \"x\" }}",
        command("copy")
    );
    let place =
        Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&format!("\"unconstrained\", {own}"), 300))]);
    place.prints(&["run", "config.toml", "--out", "one", "--threads", "1"]);
    place.prints(&["run", "config.toml", "--out", "two", "--threads", "2"]);
    place.prints(&["compare", "one", "two", "--identical"]);
    for shard in ["1/3", "2/3", "3/3"] {
        place.prints(&["run", "config.toml", "--out", "merged", "--shard", shard]);
    }
    place.prints(&["merge", "config.toml", "--out", "merged"]);
    place.prints(&["compare", "one", "merged", "--identical"]);
    let cells: Vec<CellRow> = place.rows("one");
    let options: Vec<&str> = cells.iter().map(|cell| cell.options.as_str()).collect();
    assert_eq!(options[0], "");
    assert!(options[1].starts_with("name=copy,alpha=1,mode=x,files="), "{options:?}");
    assert!(options[2].starts_with("name=copy,alpha=2.5,mode=x,files="), "{options:?}");
    let rows: Vec<ErrorRow> = place.rows("one");
    let of = |i: usize| -> Vec<(f64, f64, f64)> {
        rows.iter().filter(|row| row.cell == cells[i].cell).map(|row| (row.l1, row.l2, row.bias)).collect()
    };
    assert!(of(0).len() == 900 && of(0) == of(1) && of(1) == of(2));
    // The resolved config is the same run.
    place.prints(&["run", "one/config.resolved.toml", "--out", "again"]);
    place.prints(&["compare", "one", "again", "--identical"]);
    let report = place.prints(&["report", "one"]);
    assert!(report.contains("copy alpha=1, mode=x") && report.contains("copy alpha=2.5, mode=x"), "{report}");
    let levels: Vec<LevelRow> = place.rows("one");
    assert_eq!(levels.len(), 3 * 3);
}

/// What is excluded is neither drawn nor started; options that look like numbers are as they were given when the resolved config is run.
fn exclusions_name_methods_and_options() {
    let own = |kind: &str, more: &str| {
        format!("{{ kind = \"external\", {}, name = \"{kind}\"{more} }}", command(kind))
    };
    let methods = format!("\"l2\", {}, {}", own("copy", ", mode = [\"1e5\", \"007\"]"), own("mute", ""));
    let cells = |excluded: &str| {
        let config = tree(&methods, 5) + &format!("[[exclude]]\nmethod = {excluded}\n");
        let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config)]);
        place.prints(&["run", "config.toml", "--out", "out"]);
        place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
        place.prints(&["compare", "out", "again", "--identical"]);
        let cells: Vec<CellRow> = place.rows("out");
        cells.iter().map(|cell| cell.options.split(",files=").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mute = "{ kind = \"external\", name = \"mute\" }";
    assert_eq!(cells(mute), ["", "name=copy,mode=1e5", "name=copy,mode=007"]);
    let one = format!("[{mute}, {{ kind = \"external\", name = \"copy\", mode = \"1e5\" }}]");
    assert_eq!(cells(&one), ["", "name=copy,mode=007"]);
    assert_eq!(cells("\"external\""), [""]);
}

/// A program that another has started ends with it.
fn wrappers_end_with_what_they_started() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let program = std::env::current_exe().unwrap().display().to_string();
    let shell = format!("'{program}' method hangs; true");
    let own = format!("{{ kind = \"external\", command = [\"sh\", \"-c\", {shell:?}], timeout = 0.5 }}");
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&format!("{own}, \"l2\""), 5))]);
    let clock = std::time::Instant::now();
    let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(place.failures("out")[0].contains("took more than 500ms"));
    assert!(clock.elapsed().as_secs() < 20);
}

fn tables_are_served() {
    let own = format!("{{ kind = \"external\", {} }}", command("integers"));
    let config = format!(
        "name = \"own\"\nseed = 1\nreplicates = 50\n{TABLE_DATA}{MARGINS}{NONNEGATIVE}[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\n\
         method = [\"unconstrained\", {own}]\n"
    );
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows: Vec<ErrorRow> = place.rows("out");
    let (free, own) = rows.split_at(50);
    assert!(
        free.iter()
            .zip(own)
            .all(|(a, b)| (a.l1, a.l2, a.bias, a.invariant_ok) == (b.l1, b.l2, b.bias, b.invariant_ok))
    );
    assert!(own.iter().any(|row| !row.invariant_ok));
}

/// A cell that fails quotes what happened and the last words; the other cells go on.
fn what_goes_wrong_is_the_cells_error() {
    for (kind, wanted) in [
        ("dies", "my disk is full"),
        ("hangs", "took more than 300ms for an answer"),
        ("garbage", "answered `xxxxx"),
        ("shapes", "replicates, want"),
        ("short", "sent too few counts: 8 of"),
        ("long", "sent more than the counts of its releases"),
        ("starving", "sent too few counts"),
        ("nan", "it released NaN as count 1"),
        ("half", "it promises integers, and released 0.5 as count 1"),
        ("liar", "violates its invariant"),
    ] {
        let own = format!("{{ kind = \"external\", {}, timeout = 0.3 }}", command(kind));
        let place = Place::new(&[
            ("tree.csv", TREE),
            ("config.toml", &tree(&format!("\"l2\", {own}, \"exact\""), 20)),
        ]);
        let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{kind}: {message}");
        let failures = place.failures("out");
        assert!(failures.len() == 1 && failures[0].contains(wanted), "{kind}: {failures:?}");
        let rows: Vec<LevelRow> = place.rows("out");
        assert!(rows.iter().filter(|row| row.replicates == 20).count() >= 6, "{kind}");
    }
    // What it writes to its standard error keeps nobody; one that ends between two batches is another then.
    for kind in ["floods", "once"] {
        let own = format!("{{ kind = \"external\", {} }}", command(kind));
        let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 20))]);
        let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 5)), "{kind}");
    }
}

/// Before a run begins.
fn bad_configs_are_refused() {
    let place = Place::new(&[("tree.csv", TREE)]);
    let refused = |method: &str, wanted: &[&str]| {
        place.write("config.toml", &tree(&format!("{{ kind = \"external\", {method} }}"), 5));
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out").exists() && !place.path("out.partial").exists());
    };
    refused("alpha = 1", &["an external one without a command"]);
    refused("command = []", &["command"]);
    refused("command = [1]", &["command: got 1", "want texts"]);
    refused("command = [\"/no/such/program\"]", &["/no/such/program", "cannot be used"]);
    refused("name = \"clip\"", &["name: got `clip`", "no methods of its own"]);
    refused(&format!("{}, timeout = -1", command("copy")), &["timeout"]);
    refused(&format!("{}, depends = \"nowhere.py\"", command("copy")), &["nowhere.py: cannot read"]);
    refused(
        &format!("{}, depends = \"/dev/zero\"", command("copy")),
        &["/dev/zero", "it is a pipe or a device, want a regular file"],
    );
    let sparse = std::fs::File::create(place.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    refused(&format!("{}, depends = \"sparse\"", command("copy")), &["sparse", "it has more than 64 MiB"]);
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    refused(&format!("{}, depends = \"pipe\"", command("copy")), &["it is a pipe or a device"]);
    refused(&format!("{}, alpha = \"a b\"", command("copy")), &["alpha: got `a b`", "without blanks"]);
    refused(&command("mute"), &["cannot be used"]);
    refused(&command("boaster"), &["it promises `miracles`", "integers"]);
    refused(&command("old"), &["it speaks version 0"]);
    refused(&format!("{}, alpha = 1", command("no-options")), &["it has no option alpha=1"]);
    refused(&command("picky"), &["cannot serve this grid", "it wants another law"]);
    refused(&command("silent"), &["a mechanism says what it pays"]);
    refused(&command("talkative"), &["did not say that it is a mechanism"]);
    refused(&command("unclear"), &["`everything=1` after `ready`", "added="]);
    refused(&format!("{}, timeout = 0.2", command("slow-start")), &["took more than 200ms"]);
    refused(&format!("{}, \"my key\" = 1", command("copy")), &["option: got `my key`"]);
    refused(&format!("{}, epsilon = 1", command("copy")), &["option: got `epsilon`"]);
    refused(&format!("{}, alpha = [1, 1]", command("copy")), &["alpha: got", "twice"]);
    // Without the commands a config can be checked.
    place.write("config.toml", &tree(&format!("{{ kind = \"external\", {} }}", command("old")), 5));
    place.prints(&["check", "config.toml"]);
    place.refuses(&["check", "config.toml", "--commands"], &["it speaks version 0"]);
}

/// Programs of this test that run.
fn running(kind: &str) -> usize {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_it = |entry: &std::fs::DirEntry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains(&format!("method\0{kind}\0"))
    };
    folders.filter(is_it).count()
}

/// Neither after a run, nor after one that is killed.
fn no_program_stays() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let own = format!("{{ kind = \"external\", {}, timeout = 1000 }}", command("hangs"));
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 20))]);
    let mut child = begun(&place, &["run", "config.toml", "--out", "out"]);
    assert!(wait("hangs", |n| n > 0));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait("hangs", |n| n == 0));
}

/// Waits until so many of a kind run.
fn wait(kind: &str, wanted: impl Fn(usize) -> bool) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        wanted(running(kind))
    })
}

/// A tag of this process, so that others of the same test are not counted; and what a program with it starts.
fn tagged(test: &str) -> (String, String) {
    let tag = format!("{test}{}", std::process::id());
    (format!("forks-{tag}"), format!("sleeper-{tag}"))
}

/// Whatever a verb does with programs, and whether it succeeds: none of what they have started is there when it has ended.
fn what_programs_start_ends_with_every_verb() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (forks, sleeper) = tagged("verbs");
    let own = |kind: &str| {
        format!(
            "{{ kind = \"external\", {}, name = \"{kind}\", timeout = 2 }}",
            command(&format!("{forks}-{kind}"))
        )
    };
    let place = Place::new(&[("tree.csv", TREE)]);
    let ends = |methods: &str, code: i32, words: &[&str]| {
        place.write("config.toml", &tree(&format!("\"l2\", {methods}"), 40));
        let output = place.command(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert_eq!(running(&sleeper), 0, "{words:?} {methods}");
    };
    let copy = own("copy");
    ends(&copy, 0, &["check", "config.toml", "--commands"]);
    ends(&copy, 0, &["plan", "config.toml"]);
    ends(&copy, 0, &["plan", "config.toml", "--time"]);
    ends(&copy, 0, &["verify", "config.toml"]);
    ends(&copy, 0, &["submit", "config.toml", "--engine", "slurm"]);
    ends(&copy, 0, &["run", "config.toml", "--out", "out"]);
    ends(&copy, 0, &["run", "config.toml", "--out", "out"]);
    for shard in ["1/2", "2/2"] {
        ends(&copy, 0, &["run", "config.toml", "--out", "shared", "--shard", shard]);
    }
    ends(&copy, 0, &["merge", "config.toml", "--out", "shared"]);
    // Refused before anything is drawn, by itself or by another; a folder that is taken; cells that fail.
    ends(&own("picky"), 2, &["run", "config.toml", "--out", "refused"]);
    ends(&own("boaster"), 2, &["check", "config.toml", "--commands"]);
    ends(&format!("{copy}, {}", own("picky")), 2, &["plan", "config.toml"]);
    ends(&own("slow-start"), 2, &["plan", "config.toml"]);
    place.write("out/config.resolved.toml", "");
    ends(&own("integers"), 2, &["run", "config.toml", "--out", "out"]);
    ends(&own("dies"), 5, &["run", "config.toml", "--out", "failed"]);
    ends(&own("hangs"), 5, &["run", "config.toml", "--out", "late"]);
    ends(&format!("{copy}, {}", own("dies")), 5, &["run", "config.toml", "--out", "fast", "--fail-fast"]);
}

/// Also when nobody waits for the signal, or nobody can.
fn what_programs_start_ends_with_signals() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (forks, sleeper) = tagged("signals");
    let place = Place::new(&[("tree.csv", TREE)]);
    for (kind, words, codes) in [
        ("hangs", &["run", "config.toml", "--out", "out"][..], [Some(143), Some(130), None]),
        ("slow-start", &["check", "config.toml", "--commands"], [None; 3]),
        ("slow-start", &["verify", "config.toml"], [None; 3]),
    ] {
        let own = command(&format!("{forks}-{kind}"));
        place.write("config.toml", &tree(&format!("{{ kind = \"external\", {own}, timeout = 1000 }}"), 20));
        for (signal, code) in ["TERM", "INT", "KILL"].iter().zip(codes) {
            if *signal == "INT" && code.is_none() && ignores_interrupts() {
                continue;
            }
            let _ = std::fs::remove_dir_all(place.path("out.partial"));
            let mut child = begun(&place, words);
            assert!(wait(&sleeper, |n| n >= 4), "{words:?} {signal}");
            // The run waits for signals by then.
            let drawn = || words[0] != "run" || place.path("out.partial/config.resolved.toml").exists();
            while !drawn() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            send(signal, child.id());
            let status = child.wait().unwrap();
            assert_eq!(status.code(), code, "{words:?} {signal}");
            assert!(wait(&sleeper, |n| n == 0), "{words:?} {signal}");
        }
    }
}

/// Whether this process, and so what it starts, ignores SIGINT: so does what a shell without job control has put into the background.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

fn begun(place: &Place, words: &[&str]) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_congenial"))
        .args(words)
        .current_dir(place.path("."))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

fn send(signal: &str, process: u32) {
    let sent = std::process::Command::new("kill").args([format!("-{signal}"), process.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// A program that is ended by the end of the run is no error of its cell.
fn a_run_that_is_stopped_goes_on_without_failures() {
    let own = format!("{{ kind = \"external\", {}, name = \"own\" }}", command("waits"));
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 200))]);
    for signal in ["TERM", "INT"] {
        let out = format!("out-{signal}");
        let words = ["run", "config.toml", "--out", &out];
        let mut child = begun(&place, &words);
        assert!(wait("waits", |n| n > 0));
        std::thread::sleep(std::time::Duration::from_millis(300));
        send(signal, child.id());
        child.wait().unwrap();
        place.write("go", "");
        place.prints(&["run", "config.toml", "--out", &out, "--resume"]);
        place.prints(&["run", "config.toml", "--out", &format!("whole-{signal}")]);
        place.prints(&["compare", &out, &format!("whole-{signal}"), "--identical"]);
        std::fs::remove_file(place.path("go")).unwrap();
    }
}

/// A handshake that changes within one process, and between two, is refused.
fn handshakes_that_change_are_refused() {
    for (kind, wanted) in [
        ("counted", "changed its version between two handshakes: `1` at first, then `2`"),
        ("numbered", "changed its name between two handshakes: `own-"),
    ] {
        let own = format!("{{ kind = \"external\", {}, name = \"own\" }}", command(kind));
        let config = tree(&own, 20).replace("epsilon = 0.5", "epsilon = [0.5, 1.0]");
        let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config)]);
        let output =
            place.command(&["run", "config.toml", "--out", "out", "--threads", "1"]).output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        let failures = place.failures("out");
        assert!(failures.iter().any(|error| error.contains(wanted)), "{kind}: {failures:?}");
    }
}

fn keys_are_of_command_options_and_files() {
    let own = format!("{{ kind = \"external\", {}, depends = \"mine.txt\" }}", command("copy"));
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 5)), ("mine.txt", "1")]);
    let key = || {
        let plan: serde_json::Value =
            serde_json::from_str(&place.prints(&["plan", "config.toml", "--json"])).unwrap();
        plan["cells"][0]["cell"].as_str().unwrap().to_owned()
    };
    let first = key();
    assert_eq!(first, key());
    place.write("mine.txt", "2");
    assert_ne!(first, key());
}

/// Errors by node of `unconstrained` and of a method of one's own in the same releases.
fn draws(place: &Place, own: &str) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let config =
        tree(&format!("\"unconstrained\", {own}"), 50).replace("seed = 1", "seed = 1\nkeep-draws = true");
    place.write("config.toml", &config);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let draws: Vec<NodeDrawRow> = place.rows("out");
    assert_eq!(draws.len(), 2 * 50 * 10);
    let errors = |rows: &[NodeDrawRow]| {
        rows.chunks(10).map(|rows| rows.iter().map(|row| row.error).collect()).collect()
    };
    let (free, own) = draws.split_at(50 * 10);
    (errors(free), errors(own))
}

/// The tree of `TREE`.
const PARENTS: [usize; 10] = [0, 0, 0, 0, 1, 1, 2, 2, 2, 3];

/// The method in C of `examples/methods`, where there is a compiler.
fn sums_in_c_are_sums() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/methods/bottom_up.c");
    let place = Place::new(&[("tree.csv", TREE)]);
    let built = std::process::Command::new("cc").arg("-o").arg(place.path("bottom_up")).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("sums in C: skipped: no compiler");
        return;
    }
    let (free, own) = draws(&place, "{ kind = \"external\", command = [\"./bottom_up\"] }");
    for (mut free, own) in free.into_iter().zip(own) {
        free[..4].fill(0.0);
        (1..10).rev().for_each(|node| free[PARENTS[node]] += free[node]);
        assert_eq!(free, own);
    }
}

/// A method of `examples/methods` as a config has it; none where there is no Python with numpy.
fn python(file: &str) -> Option<String> {
    let numpy = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        println!("{file}: skipped: no Python with numpy");
        return None;
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/methods");
    Some(format!(
        "{{ kind = \"external\", command = [\"python3\", \"{file}\"], folder = {:?}, depends = [\"{file}\", \"protocol.py\"] }}",
        folder.display().to_string()
    ))
}

/// The method of `examples/methods` beside our projection of the same noise, where there is Python with numpy.
fn least_squares_in_python_are_l2() {
    let Some(own) = python("least_squares.py") else { return };
    let hierarchy = Hierarchy::from_parents(&PARENTS).unwrap();
    let law = DoubleGeometric::new(2.0).unwrap();
    let l2 = L2::new(&hierarchy, &[law.variance(); 3]).unwrap();
    let (free, own) = draws(&Place::new(&[("tree.csv", TREE)]), &own);
    for (mut noise, own) in free.into_iter().zip(own) {
        l2.project(&mut noise);
        assert!(
            noise.iter().zip(&own).all(|(ours, theirs)| (ours - theirs).abs() < 1e-9),
            "{noise:?} {own:?}"
        );
    }
}

/// It is given the confidential counts, and what it says stands in plan, results and report.
fn mechanisms_see_the_counts_and_say_what_they_pay() {
    let own = format!("{{ kind = \"external\", {} }}", command("truth"));
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&format!("\"l2\", {own}"), 20))]);
    let plan: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "config.toml", "--json"])).unwrap();
    let added = &plan["cells"][1]["pays"]["added"];
    assert_eq!(
        (added["epsilon"].as_f64(), added["gamma_known"].as_str()),
        (Some(1.0), Some("declared")),
        "{plan:#}"
    );
    // What it says at delta 1e-9 it does not say at a smaller one.
    for (delta, charged) in [("2e-9", Some(2.0)), ("1.9e-9", None)] {
        let twice = ["plan", "config.toml", "--json", "--delta", delta, "--releases", "2"];
        let plan: serde_json::Value = serde_json::from_str(&place.prints(&twice)).unwrap();
        let changes = plan["curves"]["changes"].as_array().unwrap();
        let own = changes.iter().find(|change| change["cell"] == plan["cells"][1]["cell"]).unwrap();
        let [of, epsilon] = ["charged", "epsilon"].map(|key| own[key].as_f64());
        assert_eq!((own["change"].as_str(), of, epsilon), (Some("added"), charged, None), "{delta}");
    }
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows: Vec<ErrorRow> = place.rows("out");
    assert!(rows[60..].iter().all(|row| row.l1 == 0.0 && row.invariant_ok));
    let cells: Vec<CellRow> = place.rows("out");
    let [of_noise, own] = &cells[..] else { panic!("{cells:?}") };
    assert_eq!((of_noise.epsilon_total, of_noise.gamma_known.as_str()), (1.5, "proved"));
    assert_eq!((own.epsilon_total, own.delta_total, own.gamma_known.as_str()), (1.0, 1e-9, "declared"));
    let report = place.prints(&["report", "out", "--full"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("epsilon 1 at delta 1e-9, declared"), "{report}");
    assert!(
        report.contains("one record moved: unknown: the mechanism does not say what it pays for it"),
        "{report}"
    );
}

fn verify_draws_twice() {
    let run = |kind: &str| {
        let own = format!("{{ kind = \"external\", {} }}", command(kind));
        let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 5))]);
        let output = place.command(&["verify", "config.toml"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // Nothing is known of their law: what is released always, or is 1 too large, is told from nothing.
    for kind in ["copy", "constant", "shifted"] {
        let (code, words) = run(kind);
        assert!(code == Some(0) && words.contains("again: same"), "{kind}: {words}");
        assert!(words.contains("not compared") && !words.contains("fine"), "{kind}: {words}");
    }
    // What it releases depends on the batch.
    let (code, words) = run("changeable");
    assert!(code != Some(0) && words.contains("again: others"), "{words}");
}

/// The mechanism of `examples/methods`, where there is Python with numpy: its errors are those of its own noise.
fn a_mechanism_in_python() {
    let Some(own) = python("geometric.py") else { return };
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &tree(&own, 2000))]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows: Vec<ErrorRow> = place.rows("out");
    let leaves: Vec<f64> =
        rows.iter().filter(|row| row.level == 3).map(|row| row.l2 * row.l2 / 6.0).collect();
    let n = leaves.len() as f64;
    let mean = leaves.iter().sum::<f64>() / n;
    let error = (leaves.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    let variance = DoubleGeometric::new(2.0).unwrap().variance();
    // Of 5 standard errors, of a normal mean: 6e-7.
    assert!((mean - variance).abs() < 5.0 * error, "{mean} ± {error}, {variance}");
}

fn the_config_with_methods_in_python_runs() {
    if python("clip.py").is_none() {
        return;
    }
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/methods/external.toml");
    let place = Place::new(&[]);
    place.prints(&["check", config, "--commands"]);
    place.prints(&["run", config, "--set", "replicates=20", "--out", "out"]);
    let cells: Vec<CellRow> = place.rows("out");
    let names: Vec<String> =
        cells[..6].iter().map(|cell| cell.options.split(",files=").next().unwrap().to_owned()).collect();
    assert_eq!(names, ["", "", "", "name=least_squares", "name=clip,floor=0", "name=clip,floor=1"]);
    assert_eq!(cells[4].gamma_known, "proved");
    assert!(!cells[3].nonnegative && cells[4].nonnegative);
    let rows: Vec<ErrorRow> = place.rows("out");
    assert!(rows.iter().filter(|row| row.cell == cells[4].cell).all(|row| row.invariant_ok));
}

/// `examples/own_method.rs`, where it was built beside this test.
fn the_example_in_rust_is_the_whole_program() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/own_method");
    if !example.exists() {
        println!("the example in Rust: skipped: not built (`cargo test` builds it)");
        return;
    }
    let place = Place::new(&[]);
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/methods/own.toml");
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(&example)
            .args(arguments)
            .current_dir(place.path("."))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{words}");
        words
    };
    run(&["run", config, "--set", "replicates=20", "--out", "out"]);
    assert!(run(&["report", "out"]).contains("┆ bottom-up "));
    assert!(run(&["verify", config]).contains("again: same"));
    let rows: Vec<ErrorRow> = place.rows("out");
    let cells: Vec<CellRow> = place.rows("out");
    for row in rows {
        let cell = cells.iter().find(|cell| cell.cell == row.cell).unwrap();
        assert!(row.invariant_ok || cell.method.name() == "unconstrained", "{cell:?} {row:?}");
    }
    // Another program does not know it.
    place.refuses(&["check", config], &["name: got `bottom-up`", "no methods of its own"]);
}
