//! The dialects of Mistral: `mistral-conversations` and `mistral-chat`.

mod debug_tmp;

use telechir_providers::conform::Manifest;
#[test]
fn tmp_rows() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/mistral");
    let manifest = Manifest::read(&std::fs::read(folder.join("manifest.json")).unwrap(), None).unwrap();
    for v in &manifest.vectors {
        let row = v.check(&std::fs::read(folder.join(&v.file)).unwrap());
        if !row.is_good() || row.bare == Some(false) { println!("@@ {} good={} bare={:?} {:?}", row.file, row.is_good(), row.bare, row.problems); }
    }
}
