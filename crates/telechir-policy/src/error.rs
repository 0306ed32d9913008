//! Errors in a policy file.

/// Why a policy file is refused. Every text names the file, the line and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file is not TOML, or has an unknown key or value.
    #[error("read the policy {origin}, line {line}: {message}")]
    File {
        /// Name of the file.
        origin: String,
        /// Line in the file, from 1.
        line: usize,
        /// The TOML parser's message, without the position.
        message: String,
    },
    /// A rule is empty, or one of its values is invalid.
    #[error("read the policy {origin}, line {line}: {problem}")]
    Rule {
        /// Name of the file.
        origin: String,
        /// First line of the rule, from 1.
        line: usize,
        /// What is wrong, and how to fix it.
        problem: String,
    },
    /// A rule contradicts its own example.
    #[error("read the policy {origin}, line {line}: the rule {} its example {example}; change the rule or the example", if *.wanted { "does not match" } else { "must not match but matches" })]
    Example {
        /// Name of the file.
        origin: String,
        /// Line of the example, from 1.
        line: usize,
        /// The contradicting example as the file has it, on one line.
        example: String,
        /// Whether the example is listed under `match`.
        wanted: bool,
    },
}
