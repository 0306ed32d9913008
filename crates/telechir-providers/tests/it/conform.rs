//! Runs every manifest of `tests/vectors` through the conformance kit.

mod kit;

use std::fs;
use std::path::{Path, PathBuf};

use telechir_providers::Dialect;
use telechir_providers::conform::{Manifest, VectorReport};

/// The folders of test vectors.
fn folders() -> Vec<PathBuf> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut folders: Vec<PathBuf> = fs::read_dir(vectors)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn manifest(folder: &Path) -> Manifest {
    let found = ["manifest.json", "index.json"]
        .iter()
        .find_map(|name| fs::read(folder.join(name)).ok());
    let bytes = found.unwrap_or_else(|| panic!("{} has no manifest", folder.display()));
    Manifest::read(&bytes, None).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

fn rows(folder: &Path) -> Vec<VectorReport> {
    let check = |vector: &telechir_providers::conform::Vector| {
        let file = folder.join(&vector.file);
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        vector.check(&bytes)
    };
    manifest(folder).vectors.iter().map(check).collect()
}

/// The vectors of these folders that do not conform.
fn failures(folders: &[PathBuf]) -> Vec<String> {
    let mut bad = Vec::new();
    for folder in folders {
        for row in rows(folder).iter().filter(|row| !row.is_good()) {
            bad.push(format!(
                "{}/{}: {:?}",
                folder.display(),
                row.file,
                row.problems
            ));
        }
    }
    bad
}

#[test]
fn every_vector_conforms() {
    let folders = folders();
    // The test has two places, so it uses both.
    let (some, others) = folders.split_at(folders.len() / 2);
    let bad = std::thread::scope(|scope| {
        let some = scope.spawn(|| failures(some));
        let others = failures(others);
        [some.join().expect("no panic"), others].concat()
    });
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn every_file_is_in_its_manifest() {
    for folder in folders() {
        let listed = manifest(&folder).vectors;
        for entry in fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let is_listed = listed.iter().any(|vector| vector.file == file);
            let is_list = file == "manifest.json" || file == "index.json";
            assert!(is_listed || is_list, "{}/{file}", folder.display());
        }
    }
}

/// Without vectors, nothing demonstrates a dialect's claims.
#[test]
fn every_dialect_has_vectors() {
    let vectors: Vec<_> = folders()
        .iter()
        .flat_map(|folder| manifest(folder).vectors)
        .collect();
    for dialect in Dialect::ALL {
        let has_some = vectors.iter().any(|vector| vector.dialect == Ok(dialect));
        assert!(has_some, "no vector is of {dialect}");
    }
}

/// A recorded HTTP message of Bedrock identifies its dialect, independent of the manifest.
#[test]
fn the_operation_selects_the_dialect_of_a_bedrock_document() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/bedrock");
    let mut seen = Vec::new();
    for mut vector in manifest(&folder).vectors {
        let wire = ["wire_request", "wire_response", "eventstream"];
        if !wire.contains(&vector.kind.as_str()) {
            continue;
        }
        let dialect = std::mem::replace(&mut vector.dialect, Err(String::new()));
        let row = vector.check(&fs::read(folder.join(&vector.file)).unwrap());
        assert!(row.is_good(), "{row:?}");
        if row.unchecked.is_none() {
            assert_eq!(Ok(row.dialect.parse().unwrap()), dialect, "{}", row.file);
            seen.push(row.dialect);
        }
    }
    for dialect in ["bedrock-converse", "bedrock-invoke", "bedrock-agents"] {
        assert!(seen.iter().any(|one| one == dialect), "{dialect}: {seen:?}");
    }
}
