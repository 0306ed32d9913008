//! The contract of every computer, with a window manager as in real use.

use telechir_testkit::witness::XWitness;
use telechir_x11::Desktop;
use tempfile::TempDir;

use crate::fixture::{self, POLITE};

async fn open_desktop() -> (Desktop, XWitness, TempDir) {
    let folder = fixture::session_dir();
    let (desktop, witness) = fixture::watched(fixture::managed(&folder).await, POLITE).await;
    (desktop, witness, folder)
}

telechir_testkit::computer_contract!(open_desktop);
