//! The hash chain that reveals edited, missing and moved rows.

/// A row of the journal, as stored.
#[derive(Clone, Debug)]
pub(super) struct JournalRow {
    pub(super) seq: i64,
    pub(super) run: String,
    pub(super) at_ms: i64,
    pub(super) kind: String,
    pub(super) body: String,
    pub(super) previous: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

/// The previous hash of the first row.
pub(super) const GENESIS: [u8; 32] = [0; 32];

/// The hash of a row: BLAKE3 of the previous hash and the row's members as a JSON array.
pub(super) fn hash(previous: &[u8], row: (i64, &str, i64, &str, &str)) -> [u8; 32] {
    let (seq, run, at_ms, kind, body) = row;
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous);
    hasher.update(
        serde_json::json!([seq, run, at_ms, kind, body])
            .to_string()
            .as_bytes(),
    );
    *hasher.finalize().as_bytes()
}

impl JournalRow {
    /// Whether the row matches its own hash.
    pub(super) fn is_intact(&self) -> bool {
        let row = (
            self.seq,
            self.run.as_str(),
            self.at_ms,
            self.kind.as_str(),
            self.body.as_str(),
        );
        hash(&self.previous, row).as_slice() == self.hash
    }
}
