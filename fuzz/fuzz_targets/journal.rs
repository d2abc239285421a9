//! Logs of a journal and the records beside them; the first byte chooses the reader.
#![no_main]

mod common;

use congenial::store::{Identity, Manifest, hash_of, next, sealed};
use congenial::study::release::Rows;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Some((&reader, bytes)) = data.split_first() else { return };
    match reader % 4 {
        0 => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            let read = |text: &str| Manifest::parse(Path::new("manifest.json"), text);
            if let Err(failure) = read(text) {
                common::refused(failure);
            }
            // With its own hash, which no change by chance would meet.
            if !text.contains("\"manifest_sha256\"") {
                return;
            }
            match read(&sealed(text)) {
                Ok(manifest) => {
                    let again = read(&manifest.text()).expect("the same");
                    assert_eq!(again.text(), manifest.text());
                    assert!(!manifest.revision().is_empty());
                }
                Err(failure) => common::refused(failure),
            }
        }
        1 => drop(serde_json::from_slice::<Identity>(bytes)),
        // What no checksum vouches for.
        2 => {
            let (mut source, mut record) = (bytes, Vec::new());
            assert!(next(&mut source, &hash_of("identity"), &mut record).expect("memory").is_none());
        }
        // Rows under their checksum, as a log has them.
        _ => {
            let identity = hash_of("identity");
            let mut words = Vec::new();
            for word in [7, 0, 4, 0, bytes.len() as u64] {
                words.extend_from_slice(&u64::to_le_bytes(word));
            }
            let checksum = Sha256::digest([identity.as_bytes(), &words, bytes].concat());
            let log = [b"records4", &words[..], &checksum[..], bytes].concat();
            let (mut source, mut record) = (&log[..], Vec::new());
            assert_eq!(next(&mut source, &identity, &mut record).expect("memory"), Some(((7, 0, 4), false)));
            assert!(source.is_empty() && record == log);
            let Ok(rows) = postcard::from_bytes::<Rows>(bytes) else { return };
            let encoded = postcard::to_stdvec(&rows).expect("memory");
            let again: Rows = postcard::from_bytes(&encoded).expect("what was written");
            assert_eq!(postcard::to_stdvec(&again).expect("memory"), encoded);
        }
    }
});
