//! From a frame to the picture a model gets: scaled, and encoded as PNG, WebP or JPEG.
//!
//! Pure: it starts threads for large pictures and ends them before it returns, and knows no
//! screen, no session and no provider. [`encode`] is all that most callers need.
//!
//! To draw on a picture (labels, a grid), take the frame in the picture's size from [`shrink`],
//! draw on its pixels through [`Frame::bgrx_mut`](telechir_device::Frame::bgrx_mut), and encode
//! that: what is drawn is then as sharp as the picture, whatever the screen's size.

mod error;
mod format;
mod png;
mod scale;

pub use error::ImageError;
pub use format::{Format, encode, encode_within};
pub use scale::shrink;
