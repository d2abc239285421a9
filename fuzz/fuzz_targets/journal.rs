//! Parts of a journal and the records beside them; the first byte chooses the reader.
#![no_main]

mod common;

use congenial::results::{Identity, Journal, Manifest, Part};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::LazyLock;

/// A journal and the hash of what it belongs to.
static JOURNAL: LazyLock<(Journal, String)> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("congenial-fuzz-{}", std::process::id()));
    let journal = Journal::open(&folder, &Identity::new("0123", "data")).expect("a folder");
    let identity = std::fs::read(folder.join("journal/identity.json")).expect("its identity");
    std::fs::remove_dir_all(folder).expect("removed");
    (journal, hex(&identity))
});

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((&reader, bytes)) = data.split_first() else { return };
    let (journal, identity) = &*JOURNAL;
    match reader % 4 {
        0 => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            match Manifest::parse(Path::new("manifest.json"), text) {
                Ok(manifest) => {
                    let text = serde_json::to_string(&manifest).expect("plain fields");
                    assert_eq!(
                        Manifest::parse(Path::new("manifest.json"), &text).expect("the same"),
                        manifest
                    );
                    assert!(!manifest.revision().is_empty());
                }
                Err(failure) => common::refused(failure),
            }
        }
        1 => drop(serde_json::from_slice::<Identity>(bytes)),
        // What no header vouches for.
        2 => assert!(journal.part("cell", &(0..4), bytes).is_none()),
        // A payload under its header.
        _ => {
            let mut file = format!("congenial part of {identity} cell 0 4 {}\n", hex(bytes)).into_bytes();
            file.extend(bytes);
            let Some(part) = journal.part("cell", &(0..4), &file) else { return };
            let encoded = postcard::to_stdvec(&part).expect("memory");
            let again: Part = postcard::from_bytes(&encoded).expect("what was written");
            assert_eq!(postcard::to_stdvec(&again).expect("memory"), encoded);
            let (mut rows, _) = part;
            rows.append(again.0);
            drop(rows.take_rhat());
        }
    }
});
