//! Function calls that arrive in pieces.

use std::ops::Add;

use serde_json::Value;

use super::partial;
use crate::{Arguments, CallId, FunctionCall};

/// A call that is still arriving: deltas are merged until it is whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncompleteCall {
    /// Its place in the stream.
    pub index: Option<u64>,
    /// Set once.
    pub call_id: Option<CallId>,
    /// Set once.
    pub name: Option<String>,
    /// Grows.
    pub arguments: String,
}

/// Why pieces do not make a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteCallError {
    /// Two pieces of different calls.
    #[error("merge pieces of two calls, {first} and {second}")]
    DifferentCalls {
        /// What is there.
        first: String,
        /// What came.
        second: String,
    },
    /// No piece said a name.
    #[error("complete a call without a name")]
    NoName,
    /// The arguments are not JSON.
    #[error("complete the call of {name}: its arguments are not JSON")]
    BadArguments {
        /// The tool.
        name: String,
    },
}

impl IncompleteCall {
    /// Whether `next` is a piece of this call.
    ///
    /// Ids decide where both have one, places in the stream otherwise. A piece with neither
    /// goes on with the call before it, unless it says a name and so does that call.
    pub fn is_continued_by(&self, next: &Self) -> bool {
        if let (Some(ours), Some(theirs)) = (&self.call_id, &next.call_id) {
            return ours == theirs;
        }
        if let (Some(ours), Some(theirs)) = (self.index, next.index) {
            return ours == theirs;
        }
        if next.call_id.is_some() {
            return self.call_id.is_none();
        }
        next.index.is_some() || next.name.is_none() || self.name.is_none()
    }

    /// Adds a piece: arguments grow, id, name and place are set once.
    ///
    /// # Errors
    /// When it is a piece of another call, or names another tool; nothing is changed then.
    pub fn merge(&mut self, next: Self) -> Result<(), IncompleteCallError> {
        let renamed =
            matches!((&self.name, &next.name), (Some(ours), Some(theirs)) if ours != theirs);
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
        let place = || self.index.map(|index| format!("number {index}"));
        let label = id
            .map(str::to_owned)
            .or_else(place)
            .or_else(|| self.name.clone());
        label.unwrap_or_else(|| "one without a name".to_owned())
    }

    /// The arguments as far as they came, with what is open closed; none before the first
    /// value can be told.
    ///
    /// ```
    /// use telechir_protocol::IncompleteCall;
    /// let call = IncompleteCall { arguments: r#"{"path": "/tmp/a", "te"#.into(), ..Default::default() };
    /// assert_eq!(call.arguments_so_far(), Some(serde_json::json!({"path": "/tmp/a"})));
    /// ```
    pub fn arguments_so_far(&self) -> Option<Value> {
        partial::parse(&self.arguments)
    }

    /// The whole call.
    ///
    /// # Errors
    /// When no piece said a name, or the arguments are not JSON.
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

/// The calls of one response that is still arriving, in the order they began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncompleteCalls(Vec<IncompleteCall>);

impl IncompleteCalls {
    /// Adds a piece to the newest call it goes on with, or begins another call.
    ///
    /// # Errors
    /// When it goes on with a call and names another tool.
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

    /// The calls as far as they came.
    pub fn as_slice(&self) -> &[IncompleteCall] {
        &self.0
    }

    /// The whole calls.
    ///
    /// # Errors
    /// When one of them is not whole.
    pub fn complete(self) -> Result<Vec<FunctionCall>, IncompleteCallError> {
        self.0.into_iter().map(IncompleteCall::complete).collect()
    }
}
