//! Recognizes text on the screen with tesseract; an optional component.
//!
//! Any program can draw the pixels, so tesseract runs in a sandbox of its own: no network, no home,
//! no writable files. Each run starts a new process.
//!
//! ```no_run
//! # async fn example(frame: telechir_device::Frame) -> Result<(), telechir_device::DeviceError> {
//! use telechir_device::TextRecognizer as _;
//! use telechir_ocr::Tesseract;
//!
//! let mut recognizer = Tesseract::new(None);
//! for line in recognizer.read(&frame).await? {
//!     println!("{}", line.text());
//! }
//! # Ok(())
//! # }
//! ```

mod pgm;
mod tesseract;
mod tsv;

pub use tesseract::Tesseract;
