//! Reports values that a block has no field for; replaces illegal characters in ids and names.

use telechir_protocol::CallId;

use super::location;
use crate::Report;
use crate::service_rules::{ANTHROPIC_CALL_ID, NameRule};

/// Reports the values of a content that a block has no field for.
pub(in crate::anthropic) fn report_losses(
    report: &mut Report,
    location: &str,
    item_id: Option<&str>,
    status: Option<&str>,
) {
    let why = "a block has no field for it";
    if let Some(item_id) = item_id {
        report.lost(format!("item id {item_id}"), location, why);
    }
    if let Some(status) = status.filter(|status| *status != "completed") {
        report.lost(format!("status {status}"), location, why);
    }
}

/// The id, with a digest if it has characters other than letters, digits, `_` and `-`.
pub(super) fn legal_id(id: &CallId, report: &mut Report) -> String {
    let legal = legal(id.as_str(), &ANTHROPIC_CALL_ID);
    if legal != id.as_str() {
        report.preserved(
            format!("id {id}"),
            location(id),
            "ids may contain letters, digits, _ and -",
            format!("as {legal}"),
        );
    }
    legal
}

/// The text, with a digest if the rule does not accept it.
pub(super) fn legal(text: &str, rule: &NameRule) -> String {
    if rule.accepts(text) {
        return text.to_owned();
    }
    // The digest (FNV-1a) distinguishes names that differ only in illegal characters.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let start: String = text
        .chars()
        .map(|c| if rule.has_char(c) { c } else { '_' })
        .take(64)
        .collect();
    format!("{start}-{:08x}", digest & 0xffff_ffff)
}
