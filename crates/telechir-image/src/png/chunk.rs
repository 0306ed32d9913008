//! The chunks of a PNG around the pixels (its specification, sections 5 and 11).

use telechir_protocol::Size;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Eight bits a sample, red green blue, deflate, adaptive filters, not interlaced.
const SAMPLES: [u8; 5] = [8, 2, 0, 0, 0];

/// A complete file around one zlib stream of filtered rows, given in parts.
pub(super) fn file(size: Size, stream: &[&[u8]]) -> Vec<u8> {
    let length: usize = stream.iter().map(|piece| piece.len()).sum();
    let mut file = Vec::with_capacity(length + 64);
    file.extend_from_slice(&SIGNATURE);
    let mut header = [0; 13];
    header[..4].copy_from_slice(&size.width.to_be_bytes());
    header[4..8].copy_from_slice(&size.height.to_be_bytes());
    header[8..].copy_from_slice(&SAMPLES);
    chunk(&mut file, *b"IHDR", &[&header]);
    chunk(&mut file, *b"IDAT", stream);
    chunk(&mut file, *b"IEND", &[]);
    file
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a frame's bytes are fewer than 2^32: X11 counts its sides in 16 bits"
)]
fn chunk(file: &mut Vec<u8>, name: [u8; 4], pieces: &[&[u8]]) {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    file.extend_from_slice(&(length as u32).to_be_bytes());
    let mut check = crc32fast::Hasher::new();
    for piece in [&name[..]].iter().chain(pieces) {
        check.update(piece);
        file.extend_from_slice(piece);
    }
    file.extend_from_slice(&check.finalize().to_be_bytes());
}
