//! What the translation of a history with images costs, in bare parses of the same document.

#[path = "../../../benches/history/request.rs"]
mod request;

use serde_json::Value;
use telechir_providers::Dialect;

use super::meter;

/// The most that decoding and encoding may cost, as ARCHITECTURE.md states it.
const MAX_BARE_PARSES: usize = 5;

/// Bytes are counted instead of time, so that the result is the same on every machine: a copy of
/// all images costs as much as a bare parse.
#[test]
fn decoding_and_encoding_a_history_costs_at_most_five_bare_parses() {
    let dialect = Dialect::AnthropicMessages;
    let bytes = request::request();
    let (value, bare) = meter::allocated(|| serde_json::from_slice::<Value>(&bytes).unwrap());
    // The buffer of the request is the caller's.
    let mut written = Vec::with_capacity(bytes.len());
    let ((), both) = meter::allocated(|| {
        let (history, _) = dialect.decode_history(&bytes).unwrap();
        let (document, _) = dialect.encode_history(&history).unwrap();
        serde_json::to_writer(&mut written, &document).unwrap();
    });
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), value);
    assert!(
        both <= MAX_BARE_PARSES * bare,
        "{both} bytes, and {bare} for a bare parse"
    );
}
