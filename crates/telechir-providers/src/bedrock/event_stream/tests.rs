//! Frames in chunks of any size and with damaged bytes.

use super::{EventFrame, EventFrameReader};

fn header(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(name.len()).unwrap()];
    bytes.extend(name.as_bytes());
    bytes.push(kind);
    if matches!(kind, 6 | 7) {
        bytes.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
    }
    bytes.extend(value);
    bytes
}

fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(16 + headers.len() + payload.len()).unwrap();
    let mut bytes = total.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(headers.len()).unwrap().to_be_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend(headers);
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

fn event(name: &str, payload: &str) -> EventFrame {
    EventFrame {
        kind: "event".to_owned(),
        name: name.to_owned(),
        message: String::new(),
        payload: payload.as_bytes().to_vec(),
    }
}

/// Two frames, the first with a header of every type.
fn bytes() -> Vec<u8> {
    let mut headers = header(":event-type", 7, b"messageStart");
    for (kind, length) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 2),
        (4, 4),
        (5, 8),
        (8, 8),
        (9, 16),
    ] {
        headers.extend(header("x", kind, &vec![0; length]));
    }
    headers.extend(header("raw", 6, &[1, 2, 3]));
    let mut bytes = frame(&headers, b"{\"role\":\"assistant\"}");
    bytes.extend(frame(&header(":event-type", 7, b"messageStop"), b""));
    bytes
}

#[test]
fn decodes_the_same_frames_for_every_chunking() {
    let bytes = bytes();
    let expected = [
        event("messageStart", "{\"role\":\"assistant\"}"),
        event("messageStop", ""),
    ];
    for cut in 0..=bytes.len() {
        let mut reader = EventFrameReader::default();
        let mut frames = reader.push(&bytes[..cut]).unwrap();
        frames.extend(reader.push(&bytes[cut..]).unwrap());
        assert_eq!(frames, expected, "cut at {cut}");
        assert!(!reader.is_open());
    }
}

#[test]
fn rejects_a_frame_with_any_damaged_byte() {
    let bytes = bytes();
    let intact = EventFrameReader::default().push(&bytes).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let mut reader = EventFrameReader::default();
        match reader.push(&damaged) {
            Err(error) => assert!(error.to_string().contains("checksum"), "{at}: {error}"),
            Ok(frames) => panic!("{at}: {frames:?} instead of {intact:?}"),
        }
    }
}

#[test]
fn rejects_impossible_lengths_before_buffering() {
    for (total, headers) in [(15u32, 0u32), (17, 2), (u32::MAX, 0), (16, u32::MAX)] {
        let mut bytes = total.to_be_bytes().to_vec();
        bytes.extend(headers.to_be_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        let error = EventFrameReader::default().push(&bytes).unwrap_err();
        assert!(error.to_string().contains("lengths"), "{error}");
    }
}

#[test]
fn rejects_headers_beyond_the_frame() {
    let headers = [5, b'a'];
    let error = EventFrameReader::default()
        .push(&frame(&headers, b""))
        .unwrap_err();
    assert!(error.to_string().contains("headers"), "{error}");
}
