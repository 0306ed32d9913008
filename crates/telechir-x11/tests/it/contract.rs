//! What every computer owes its caller, with a window manager in between as in real use.

use telechir_testkit::witness::XWitness;
use telechir_x11::Desktop;
use tempfile::TempDir;

use crate::stage::{self, POLITE};

async fn stage() -> (Desktop, XWitness, TempDir) {
    let folder = stage::session_dir();
    let (desktop, witness) = stage::watched(stage::managed(&folder).await, POLITE).await;
    (desktop, witness, folder)
}

telechir_device::computer_contract!(stage);
