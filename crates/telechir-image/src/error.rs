//! Errors of encoding and scaling.

/// Why an image cannot be created. Texts continue "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// An encoder rejected the pixels.
    #[error("encode an image of {width}x{height} pixels as {format}: {message}")]
    Encode {
        /// Width of the frame in pixels.
        width: u32,
        /// Height of the frame in pixels.
        height: u32,
        /// Name of the format.
        format: &'static str,
        /// The encoder's error, or the limit that the frame violates.
        message: String,
    },
    /// An image cannot be decoded.
    #[error("decode an image: {message}")]
    Decode {
        /// What is wrong with it.
        message: String,
    },
    /// The frame cannot be scaled.
    #[error("scale an image to {width}x{height} pixels: {message}")]
    Scale {
        /// Requested width in pixels.
        width: u32,
        /// Requested height in pixels.
        height: u32,
        /// What is wrong with the size.
        message: String,
    },
}
