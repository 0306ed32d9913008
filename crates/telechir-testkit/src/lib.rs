//! For tests and the demo only: real parts of the machine, witnesses, a recorded model.

pub mod gate;
pub mod page;
pub mod provider;
pub mod scene;
pub mod site;
pub mod witness;
pub mod xvfb;
