//! Test vectors by kind.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use telechir_providers::Dialect;
use telechir_providers::conform::{Expect, Manifest};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(name)
}

/// A document of a vector folder.
pub(crate) fn document(name: &str, file: &str) -> Value {
    serde_json::from_slice(&fs::read(folder(name).join(file)).unwrap()).unwrap()
}

/// The valid documents of a dialect that are histories, with their names.
pub(crate) fn histories(name: &str, dialect: Dialect) -> Vec<(String, Value)> {
    let manifest = fs::read(folder(name).join("manifest.json")).unwrap();
    let manifest = Manifest::read(&manifest, None).unwrap();
    let kinds = ["request", "response", "history", "answers", "entry"];
    let wanted = manifest.vectors.into_iter().filter(|vector| {
        vector.dialect == Ok(dialect)
            && vector.expect == Expect::Valid
            && kinds.contains(&vector.kind.as_str())
    });
    let found: Vec<(String, Value)> = wanted
        .map(|vector| {
            let read = document(name, &vector.file);
            (vector.file, read)
        })
        .collect();
    assert!(!found.is_empty(), "no document of {dialect}");
    found
}
