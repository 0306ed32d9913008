//! Function calls that arrive in deltas.

use std::ops::Add;

use serde_json::Value;

use super::partial;
use crate::{Arguments, CallId, FunctionCall};

/// A call that is still arriving: deltas are merged until it is complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncompleteCall {
    /// Index of the call in the stream.
    pub index: Option<u64>,
    /// Id of the call; set by one delta.
    pub call_id: Option<CallId>,
    /// Name of the tool; set by one delta.
    pub name: Option<String>,
    /// The arguments received until now.
    pub arguments: String,
}

/// Why deltas do not form a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteCallError {
    /// A delta belongs to a different call.
    #[error("merge deltas of two calls, {first} and {second}")]
    DifferentCalls {
        /// The call that the delta was merged into.
        first: String,
        /// The call that the delta belongs to.
        second: String,
    },
    /// No delta has a name.
    #[error("complete a call without a name")]
    NoName,
    /// The arguments are not JSON.
    #[error("complete the call of {name}: its arguments are not JSON")]
    BadArguments {
        /// Name of the tool.
        name: String,
    },
}

impl IncompleteCall {
    /// Whether `next` is a delta of this call.
    ///
    /// If both have an id, ids decide, otherwise the index in the stream. A delta with neither
    /// continues the previous call, unless both have a name.
    pub fn is_continued_by(&self, next: &Self) -> bool {
        if let (Some(mine), Some(other)) = (&self.call_id, &next.call_id) {
            return mine == other;
        }
        if let (Some(mine), Some(other)) = (self.index, next.index) {
            return mine == other;
        }
        if next.call_id.is_some() {
            return self.call_id.is_none();
        }
        next.index.is_some() || next.name.is_none() || self.name.is_none()
    }

    /// Merges a delta: arguments are appended; id, name and index are set once.
    ///
    /// # Errors
    /// When it is a delta of another call or names another tool; the call is then unchanged.
    pub fn merge(&mut self, next: Self) -> Result<(), IncompleteCallError> {
        let renamed =
            matches!((&self.name, &next.name), (Some(mine), Some(other)) if mine != other);
        if renamed || !self.is_continued_by(&next) {
            let (first, second) = (self.label(), next.label());
            return Err(IncompleteCallError::DifferentCalls { first, second });
        }
        self.index = self.index.or(next.index);
        self.call_id = self.call_id.take().or(next.call_id);
        self.name = self.name.take().or(next.name);
        self.arguments.push_str(&next.arguments);
        Ok(())
    }

    fn label(&self) -> String {
        let id = self.call_id.as_ref().map(CallId::as_str);
        let position = || self.index.map(|index| format!("number {index}"));
        let label = id
            .map(str::to_owned)
            .or_else(position)
            .or_else(|| self.name.clone());
        label.unwrap_or_else(|| "one without a name".to_owned())
    }

    /// The arguments received until now, with open values closed; none before the first value is
    /// recognizable.
    ///
    /// ```
    /// use telechir_protocol::IncompleteCall;
    /// let call = IncompleteCall { arguments: r#"{"path": "/tmp/a", "te"#.into(), ..Default::default() };
    /// assert_eq!(call.partial_arguments(), Some(serde_json::json!({"path": "/tmp/a"})));
    /// ```
    pub fn partial_arguments(&self) -> Option<Value> {
        partial::parse(&self.arguments)
    }

    /// The complete call.
    ///
    /// # Errors
    /// When no delta had a name, or the arguments are not JSON.
    pub fn complete(self) -> Result<FunctionCall, IncompleteCallError> {
        let name = self.name.ok_or(IncompleteCallError::NoName)?;
        let arguments = Arguments::Text(self.arguments);
        if arguments.to_value().is_err() {
            return Err(IncompleteCallError::BadArguments { name });
        }
        Ok(FunctionCall {
            call_id: self.call_id,
            ..FunctionCall::new(name, arguments)
        })
    }
}

impl Add for IncompleteCall {
    type Output = Result<Self, IncompleteCallError>;

    fn add(mut self, next: Self) -> Self::Output {
        self.merge(next)?;
        Ok(self)
    }
}

impl Add<Option<Self>> for IncompleteCall {
    type Output = Result<Self, IncompleteCallError>;

    fn add(self, next: Option<Self>) -> Self::Output {
        match next {
            Some(next) => self + next,
            None => Ok(self),
        }
    }
}

/// The calls of one response that is still arriving, in the order of their first deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncompleteCalls(Vec<IncompleteCall>);

impl IncompleteCalls {
    /// Merges a delta into the latest call that it continues, or starts another call.
    ///
    /// # Errors
    /// When it continues a call and names another tool.
    pub fn push(&mut self, piece: IncompleteCall) -> Result<(), IncompleteCallError> {
        let nameless = piece.index.is_none() && piece.call_id.is_none();
        let newest_first = self
            .0
            .iter_mut()
            .rev()
            .take(if nameless { 1 } else { usize::MAX });
        match newest_first
            .into_iter()
            .find(|call| call.is_continued_by(&piece))
        {
            Some(call) => call.merge(piece),
            None => {
                self.0.push(piece);
                Ok(())
            }
        }
    }

    /// The calls received until now.
    pub fn as_slice(&self) -> &[IncompleteCall] {
        &self.0
    }

    /// The complete calls.
    ///
    /// # Errors
    /// When one of them is incomplete.
    pub fn complete(self) -> Result<Vec<FunctionCall>, IncompleteCallError> {
        self.0.into_iter().map(IncompleteCall::complete).collect()
    }
}
