//! The neutral vocabulary: a model's calls to a computer, and their results.
//!
//! Values only. This crate does not know about providers, devices, clocks or networks. Its JSON
//! format is published: names are those of the Agent Framework decision records, and the names of
//! other vocabularies are accepted when reading.
//!
//! ```
//! use telechir_protocol::{Action, Content};
//! let json = r#"{"type": "computer_call", "call_id": "c1", "action": "click",
//!     "coordinate": [0, 0], "mood": "calm"}"#;
//! let content: Content = serde_json::from_str(json)?;
//! let Content::ComputerCall(call) = &content else { panic!("a computer call") };
//! assert!(matches!(call.actions[..], [Action::Click { .. }]));
//! assert_eq!(
//!     serde_json::to_string(&content)?,
//!     r#"{"type":"computer_call","call_id":"c1","actions":[{"action":"click","coordinate":[0,0],"button":"left"}],"mood":"calm"}"#
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```

mod action;
mod alias;
mod approval;
mod call;
mod computer;
mod content;
pub mod display;
mod edit;
mod failure;
mod function;
mod geometry;
mod id;
mod json;
pub mod json_limits;
mod key;
mod media;
mod protected;
#[cfg(feature = "schema")]
mod schema;
mod shell;
mod tool;

pub use action::{
    Action, ActionKind, Button, ClickCount, InvalidAction, ObserveMode, ScrollUnit,
    UnknownActionKind,
};
pub use alias::action_names::{NormalizedAction, action_aliases, normalize_action_type};
pub use approval::{ApprovalRequest, ApprovalResponse};
pub use call::{
    AnsweredTurn, IncompleteTurn, InvalidTurn, ModelTurn, ToolCall, ToolCallLike, ToolResult,
    cites_outside, hosted_source_named,
};
pub use computer::{
    ComputerCall, ComputerResult, SafetyCheck, SafetySource, Settling, StateChange, StepOutcome,
    StepState, TabState, UnsettledReason,
};
pub use content::{
    Content, ErrorContent, HostedCall, Message, Meta, Raw, ReasoningContent, Role, TextContent,
    UnknownContent, UsageContent,
};
pub use edit::{EDIT_STEPS, EditCall, EditOperation, EditResult, EditStep, EditTool};
pub use failure::{Failure, FailureKind};
pub use function::{
    Arguments, FunctionCall, FunctionResult, IncompleteCall, IncompleteCallError, IncompleteCalls,
};
pub use geometry::{FrameId, NamedElement, Point, Region, Size, Space, Target};
pub use id::{CallId, TargetId};
pub use key::{Chord, Key, Modifier, NamedKey};
pub use media::{DataContent, HostedFileContent, Media, UriContent};
pub use protected::{
    BLOCKED_ENDING, GIT_DIR, PROTECTED_PATHS, ProtectedPath, WhileMissing, fold, is_protected,
    is_protected_entry, protected_below, protected_name_count,
};
#[cfg(feature = "schema")]
pub use schema::json_schema;
pub use shell::{
    Command, CommandExecution, CommandOutput, InputRequest, InputRequestKind, ShellAction,
    ShellCall, ShellEnvironment, ShellOutcome, ShellResult,
};
pub use tool::{
    ApprovalMode, ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};
