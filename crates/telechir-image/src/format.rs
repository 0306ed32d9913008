//! Image formats, and the encoder for all of them.

use jpeg_encoder::{ColorType, Encoder as JpegEncoder, SamplingFactor};
use telechir_device::Frame;

use crate::{ImageError, png};

/// An image format with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// PNG, which every service accepts.
    Png,
    /// Lossless WebP: of about the size of a PNG of a plain desktop, smaller with photographs.
    Webp,
    /// JPEG: small for photographs, but lossy. Text loses its sharp edges.
    Jpeg {
        /// Quality from 1 to 100.
        quality: u8,
    },
}

impl Format {
    /// All formats, JPEG at its default quality.
    pub const ALL: [Self; 3] = [Self::Png, Self::Webp, Self::Jpeg { quality: 85 }];

    /// JPEG at falling qualities, for images that are too large without loss.
    pub const JPEGS: [Self; 3] = [
        Self::Jpeg { quality: 85 },
        Self::Jpeg { quality: 60 },
        Self::Jpeg { quality: 30 },
    ];

    /// The name in options: `png`, `webp`, `jpeg`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Jpeg { .. } => "jpeg",
        }
    }

    /// Parses the name of a format.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The media type, such as `image/png`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Jpeg { .. } => "image/jpeg",
        }
    }

    /// Whether the format is lossless.
    pub const fn is_exact(self) -> bool {
        !matches!(self, Self::Jpeg { .. })
    }
}

/// Encodes the complete frame at its own size, also a frame that came as a PNG.
///
/// # Errors
/// When the frame is empty, or too large for the format.
pub fn encode(frame: &Frame, format: Format) -> Result<Vec<u8>, ImageError> {
    let size = frame.size();
    let failed = |message: String| ImageError::Encode {
        width: size.width,
        height: size.height,
        format: format.name(),
        message,
    };
    if size.width == 0 || size.height == 0 {
        return Err(failed("it has no pixels".to_owned()));
    }
    match format {
        Format::Png => png::encode(frame).map_err(|error| failed(error.to_string())),
        Format::Webp => webp(frame).map_err(failed),
        Format::Jpeg { quality } => jpeg(frame, quality).map_err(failed),
    }
}

/// Encodes in the first of `formats` that takes at most `max_bytes` bytes. Returns that format, too.
///
/// # Errors
/// As for [`encode`], and when the frame is larger in every format.
pub fn encode_within(
    frame: &Frame,
    formats: &[Format],
    max_bytes: usize,
) -> Result<(Vec<u8>, Format), ImageError> {
    for format in formats {
        let bytes = encode(frame, *format)?;
        if bytes.len() <= max_bytes {
            return Ok((bytes, *format));
        }
    }
    Err(ImageError::Encode {
        width: frame.size().width,
        height: frame.size().height,
        format: formats.first().map_or("image", |format| format.name()),
        message: format!("it exceeds {max_bytes} bytes in every format"),
    })
}

fn webp(frame: &Frame) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let size = frame.size();
    image_webp::WebPEncoder::new(&mut bytes)
        .encode(
            &frame.to_rgb(),
            size.width,
            size.height,
            image_webp::ColorType::Rgb8,
        )
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn jpeg(frame: &Frame, quality: u8) -> Result<Vec<u8>, String> {
    let side = |pixels: u32| {
        u16::try_from(pixels).map_err(|_| "a JPEG has at most 65535 pixels per side".to_owned())
    };
    let (width, height) = (side(frame.size().width)?, side(frame.size().height)?);
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new(&mut bytes, quality.clamp(1, 100));
    // Chroma subsampling, usual for JPEG photographs, takes a third of the time.
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder
        .encode(frame.bgrx(), width, height, ColorType::Bgra)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}
