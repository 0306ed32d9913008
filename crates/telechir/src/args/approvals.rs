//! Arguments of the commands about questions of sessions.

use clap::{Args, Subcommand};
use telechir_host::SessionName;
use telechir_host::approvals::ApprovalCode;

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the open questions: code, session, age, first line.
    List {
        /// Only the questions of this session.
        #[arg(long, value_name = "NAME")]
        session: Option<SessionName>,
        /// Print JSON with the complete questions.
        #[arg(long)]
        json: bool,
    },
    /// Show a complete question.
    Show {
        /// Code of the question.
        code: ApprovalCode,
        /// The session of the question, if several have one with this code.
        #[arg(long, value_name = "NAME")]
        session: Option<SessionName>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the answers that count for later calls: of each session, and of all sessions.
    Remembered {
        /// Only those of this session.
        #[arg(long, value_name = "NAME")]
        session: Option<SessionName>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// End an answer that counts for later calls.
    Revoke {
        /// Its session.
        #[arg(long, value_name = "NAME", required_unless_present = "always")]
        session: Option<SessionName>,
        /// It counts in all sessions.
        #[arg(long, conflicts_with = "session")]
        always: bool,
        /// Its number in `approvals remembered`.
        number: u64,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// Code of the question.
    pub(crate) code: ApprovalCode,
    /// The session of the question, if several have one with this code.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArguments {
    /// Code of the question.
    pub(crate) code: ApprovalCode,
    /// The session of the question, if several have one with this code.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// Why, for the model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) because: String,
}
