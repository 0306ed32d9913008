//! May this run? Facts and a call go in; a permission, a question for a person, or a refusal
//! comes out.
//!
//! Pure: no clock, no environment, no files, no network. Whatever a rule may look at is a fact
//! that the caller gives. Only this crate can make a [`Permitted`]:
//!
//! ```compile_fail,E0451
//! use telechir_policy::{Permitted, ShellProposal};
//! fn forge(proposal: ShellProposal) -> Permitted<ShellProposal> {
//!     Permitted { proposal, digest: todo!(), ground: todo!(), acknowledged: vec![] }
//! }
//! ```

mod address;
mod digest;
mod error;
mod facts;
mod file;
mod judge;
mod key_rule;
mod permit;
mod proposal;
mod question;
mod rule;
mod safe_list;
mod screen_rule;
mod shell_read;
mod shell_rule;
mod shown;
mod url_rule;
mod verdict;

pub use address::AddressClass;
pub use digest::Digest;
pub use error::PolicyError;
pub use facts::{Display, Resolved, ScreenFacts, ShellFacts};
pub use judge::{Judge, Policy, Tainting};
pub use key_rule::hold;
pub use permit::{Denial, Judgement, Permitted};
pub use proposal::{Device, Proposal, ScreenProposal, ShellProposal, ShellTask};
pub use question::{Decision, Pending, Question};
pub use rule::Ground;
pub use shell_read::{Reading, Redirection, SimpleCommand, read_command};
pub use shown::{escape, summarize, summarize_command};
pub use verdict::Verdict;
