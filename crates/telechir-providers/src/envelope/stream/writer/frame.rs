//! Frames of an AWS event stream: lengths, headers, payload and two checksums, all big-endian.

/// A header's value is a string.
const STRING: u8 = 7;

/// Writes one event.
pub(super) fn write(event: &str, payload: &[u8], bytes: &mut Vec<u8>) {
    let mut headers = Vec::new();
    for (name, value) in [
        (":message-type", "event"),
        (":event-type", event),
        (":content-type", "application/json"),
    ] {
        // Names and values are short constants.
        headers.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        headers.extend_from_slice(name.as_bytes());
        headers.push(STRING);
        headers.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let start = bytes.len();
    bytes.extend(length(headers.len() + payload.len() + 16));
    bytes.extend(length(headers.len()));
    bytes.extend(crc32fast::hash(&bytes[start..]).to_be_bytes());
    bytes.extend(headers);
    bytes.extend_from_slice(payload);
    bytes.extend(crc32fast::hash(&bytes[start..]).to_be_bytes());
}
