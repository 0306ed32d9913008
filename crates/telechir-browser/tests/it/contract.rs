//! The contract test suite for computers, headless.

use telechir_browser::Browser;
use telechir_testkit::page::PageWitness;

use crate::common::witnessed;

async fn stage() -> (Browser, PageWitness, ()) {
    let (browser, witness) = witnessed().await;
    (browser, witness, ())
}

telechir_testkit::computer_contract!(stage);
