//! Reading words off pixels with tesseract, where that is installed: an optional part.
//!
//! The pixels are what any program drew, so tesseract reads them in a confinement of its own: no
//! network, no home, nothing to write to. It is started for each reading and ends with it.

mod pgm;
mod tesseract;
mod tsv;

pub use tesseract::Tesseract;
