//! Why a picture cannot be made.

/// Why a picture cannot be made. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// An encoder refused the pixels.
    #[error("encode a picture of {width}x{height} pixels as {format}: {message}")]
    Encode {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// The format's name.
        format: &'static str,
        /// What the encoder said.
        message: String,
    },
    /// It cannot be scaled.
    #[error("scale a picture to {width}x{height} pixels: {message}")]
    Scale {
        /// Pixels asked for.
        width: u32,
        /// Pixels asked for.
        height: u32,
        /// What is wrong.
        message: String,
    },
}
