//! A policy file that does not say what it means.

/// Why a policy file is refused. Every text names the file, the line and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is no TOML, or holds what no policy has.
    #[error("read the policy {origin}, line {line}: {message}")]
    File {
        /// The file.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong, from the reader.
        message: String,
    },
    /// A rule says nothing that could be checked, or something that cannot be.
    #[error("read the policy {origin}, line {line}: {problem}")]
    Rule {
        /// The file.
        origin: String,
        /// Where the rule begins, counted from 1.
        line: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A rule does not do what its own example says.
    #[error("read the policy {origin}, line {line}: the rule {} its example {example}; change the rule or the example", if *.wanted { "does not match" } else { "matches, though it should not," })]
    Example {
        /// The file.
        origin: String,
        /// Where the rule begins, counted from 1.
        line: usize,
        /// The example.
        example: String,
        /// Whether it was said to match.
        wanted: bool,
    },
}
