//! Decides whether a call may run: facts and a call go in; a permission, a question to the user
//! or a denial comes out.
//!
//! # The policy file
//! Rules of six kinds. Of all rules that match a step, the strictest verdict wins (`deny`, `ask`,
//! `sandbox`, `allow`); where none matches, the default of the table or of its kind holds, whichever
//! is stricter. Unknown keys and rules that
//! contradict their own examples are refused. Every rule has a `verdict` and a
//! `reason`; it may have a `name`, a `limit` and `examples`.
//!
//! ```
//! # let text = r#"
//! [[computer]]                         # what is done on a screen, by kind
//! actions = ["javascript", "file_upload"]  # absent: every kind
//! device = "browser"                   # or "desktop"
//! display = "private"                  # or "existing": the user's own
//! verdict = "deny"
//! reason = "Pages are only read and clicked."
//!
//! [[keys]]                             # chords, by the keys that are pressed together
//! chords = ["ctrl+w", "alt+F4"]        # to stop: these and any more; to allow: exactly these
//! verdict = "ask"
//! reason = "They close windows."
//! examples.match = ["Alt_L+f4", "ctrl+shift+w"]
//!
//! [[url]]                              # where the browser goes, and what its pages fetch
//! scheme = ["http"]
//! host = ["127.0.0.1", "*.test.example"]
//! port = [8080]
//! address = ["loopback", "unresolved"] # or public, private, link_local, metadata, special
//! verdict = "allow"
//! reason = "The pages under test."
//! limit = { count = 100, per_seconds = 60, then = "ask" }
//!
//! [[network]]                          # what programs connect with; without a rule, nothing
//! from = ["shell"]                     # or "desktop"; absent: both
//! host = ["github.com", "*.crates.io"]
//! port = [443]
//! verdict = "allow"                    # or "deny"
//! reason = "Where the code comes from."
//! examples.match = ["github.com:443"]
//! examples.not_match = ["github.com.example:443", "10.0.0.1:443"]
//!
//! [[shell]]                            # commands, by their first words
//! words = ["git", ["status", "log"]]   # each a word or one of several; absent: every command
//! options = ["-n"]                     # to permit: only these; to stop: any of these
//! shell = "sandboxed"                  # or "host"
//! redirection = false                  # whether `> file` is let through as well
//! verdict = "sandbox"                  # without approval in the sandbox; "allow": also on the host
//! reason = "Reading the history is fine."
//! examples.match = ["git log -n 1"]
//! examples.not_match = ["git push", "git log > file", "git log --output=file"]
//!
//! [[edit]]                             # files that an editor changes
//! operations = ["replace", "patch"]    # view, create, replace, insert, undo, delete, rename, add, patch
//! paths = ["src/**", "*.md"]           # seen from the workspace; absent: every file
//! tool = "patch"                       # or "editor", "memory"
//! verdict = "allow"
//! reason = "It is the model's own code."
//! examples.match = ["src/main.rs"]
//! examples.not_match = ["Cargo.toml"]
//!
//! [[network]]
//! default = "deny"                     # where no rule fits: "ask" or "deny"; in any table
//! reason = "Nothing else."
//!
//! [trusted]
//! host = ["docs.example.com"]          # reading anything else makes the session untrusted
//!
//! [[shell]]
//! except = [{ words = ["ls"] }]        # what this rule leaves to the others
//! after_untrusted = true               # counts only then; tightens
//! verdict = "ask"
//! approve = "terminal"                 # or "page", "any": where a person may answer
//! reason = "A page may have asked for it."
//! # "#;
//! # telechir_policy::Policy::from_toml(text, "policy.toml").unwrap();
//! ```
//!
//! # Purity
//! Pure: no clock, no environment, no files, no network. Everything that rules use is a
//! fact from the caller. Only this crate can create a [`Permitted`]:
//!
//! ```compile_fail,E0451
//! use telechir_policy::{Permitted, ShellProposal};
//! fn forge(proposal: ShellProposal) -> Permitted<ShellProposal> {
//!     Permitted { proposal, digest: todo!(), rule_reason: todo!(), acknowledged: vec![] }
//! }
//! ```

mod action_text;
mod address;
mod approve_at;
mod contained;
mod content_trust;
mod digest;
mod edit_rule;
mod error;
mod facts;
mod file;
mod input_target;
mod judge;
mod key_rule;
mod navigation;
mod network_rule;
mod page_hosts;
mod permit;
mod proposal;
mod question;
mod question_text;
mod rule;
mod safe_list;
mod screen_rule;
mod shape;
mod shell_change;
mod shell_options;
mod shell_read;
mod shell_rule;
mod shipped;
mod summary;
mod tunnel_rule;
mod url_rule;
mod verdict;

pub use address::AddressClass;
pub use approve_at::{ApproveAt, Interface};
pub use contained::ContainedParts;
pub use content_trust::ContentTrust;
pub use digest::Digest;
pub use error::PolicyError;
pub use facts::{
    DisplayOwner, EditFacts, PointedWindows, Resolved, ScreenFacts, ScreenWindows, ShellFacts,
    ShellReach,
};
pub use judge::{Judge, Policy, RentedCeiling, RequiredApprovals, TableCounts, Tainting};
pub use key_rule::{unknown_key, update_pressed_keys};
pub use network_rule::{Gate, NetworkClient, Remote, RemoteError, ResolvedAddress};
pub use page_hosts::PageHosts;
pub use permit::{Denial, Judgement, Permitted};
pub use proposal::{Device, EditProposal, Proposal, ScreenProposal, ShellProposal, ShellTask};
pub use question::{Decision, PendingApproval, Question};
pub use question_text::{FittedText, fit_lines};
pub use rule::RuleReason;
pub use shape::ApprovalShape;
pub use shell_read::{CommandReading, Redirection, SimpleCommand, read_command};
pub use shipped::ShippedPolicy;
pub use summary::{
    escape, may_type, summarize, summarize_command, summarize_edit, summarize_shell_action,
};
pub use verdict::Verdict;
