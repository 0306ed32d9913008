//! End-to-end tests of the binary on real parts of the machine.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as by a user"
)]

mod approval;
mod approvals;
mod attached;
mod attacks;
mod bad_input;
mod browsing;
mod conform;
mod declared;
mod do_action;
mod doctor;
mod documentation;
mod edits;
mod envelope;
mod exec;
mod existing;
mod journal_kills;
mod kills;
mod mcp;
mod mcp_install;
mod mcp_tools;
mod mistakes;
mod network;
mod neutral;
mod page_settings;
mod passwords;
mod policy;
mod profiles;
mod providers;
mod recordings;
mod remote;
mod runs;
mod scales;
mod serve;
mod session_clients;
mod session_events;
mod sessions;
mod tasks;
mod telechir;
mod terminal;
mod translate;
mod view;
