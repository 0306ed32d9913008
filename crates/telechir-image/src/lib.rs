//! Scales frames, encodes them as PNG, WebP or JPEG, and decodes these.
//!
//! Pure: it does not know about screens, sessions or providers. Most callers only need [`encode`].
//!
//! To draw on a screenshot (labels, a grid), take the frame in its final size from [`shrink`], draw
//! on its pixels through [`Frame::bgrx_mut`](telechir_device::Frame::bgrx_mut), and encode that:
//! drawings are then sharp whatever the screen's size.
//!
//! ```
//! use telechir_device::Frame;
//! use telechir_image::{Format, encode, shrink};
//! use telechir_protocol::Size;
//!
//! let frame = Frame::new(Size::new(4, 2), vec![0; 4 * 2 * 4]).unwrap();
//! let half = shrink(&frame, Size::new(2, 1))?;
//! assert_eq!(half.size(), Size::new(2, 1));
//! assert!(encode(&half, Format::Png)?.starts_with(b"\x89PNG"));
//! # Ok::<(), telechir_image::ImageError>(())
//! ```

mod decode;
mod error;
mod format;
mod png;
mod scale;

pub use decode::{decode, is_image};
pub use error::ImageError;
pub use format::{Format, encode, encode_within};
pub use scale::shrink;
