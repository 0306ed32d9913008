//! Attacks on the sandbox by the commands in it, one test each.

mod mount_points;
mod processes;
mod set_id;
mod sockets;
mod system_calls;
