//! Which computer calls of a turn belong together: after a failure the rest is not begun.

use std::collections::{HashMap, HashSet};

use telechir_protocol::{Action, ActionKind, ComputerCall, Failure, FailureKind, ToolCall};

use crate::AutoScreenshot;

/// The computer calls of a turn by family.
#[derive(Debug)]
pub(super) struct Batch {
    observe: AutoScreenshot,
    last: HashMap<String, usize>,
    failed: HashSet<String>,
}

impl Batch {
    pub(super) fn of(calls: &[ToolCall], observe: AutoScreenshot) -> Self {
        let mut last = HashMap::new();
        for (place, call) in calls.iter().enumerate() {
            if let ToolCall::Computer(call) = call
                && holds_screenshot(call)
            {
                last.insert(family(call), place);
            }
        }
        Self {
            observe,
            last,
            failed: HashSet::new(),
        }
    }

    /// Why a call is not begun, when an earlier one of its family failed.
    pub(super) fn refusal(&self, call: &ComputerCall) -> Option<Failure> {
        self.failed.contains(&family(call)).then(|| {
            let message = "Not executed: an earlier action in this turn failed.";
            Failure::new(FailureKind::NotExecuted, message)
        })
    }

    pub(super) fn fail(&mut self, call: &ComputerCall) {
        self.failed.insert(family(call));
    }

    /// Whether the result of this call has to show the screen.
    pub(super) fn wants_screenshot(
        &self,
        call: &ComputerCall,
        place: usize,
        failure: Option<&Failure>,
    ) -> bool {
        match (self.observe, failure) {
            (AutoScreenshot::EveryCall, _) => true,
            // The failed call before it showed the screen, and nothing happened since.
            (AutoScreenshot::LastOfBatch, Some(failure)) => {
                failure.kind != FailureKind::NotExecuted && holds_screenshot(call)
            }
            (AutoScreenshot::LastOfBatch, None) => self.last.get(&family(call)) == Some(&place),
        }
    }
}

/// Whether the result of a call has a place for a picture: that of a pure tab verb has none.
fn holds_screenshot(call: &ComputerCall) -> bool {
    let is_tab_verb = |action: &Action| {
        matches!(
            action.kind(),
            ActionKind::ListTabs
                | ActionKind::NewTab
                | ActionKind::SwitchTab
                | ActionKind::CloseTab
        )
    };
    call.actions.is_empty() || !call.actions.iter().all(is_tab_verb)
}

fn family(call: &ComputerCall) -> String {
    call.group.clone().unwrap_or_else(|| "computer".to_owned())
}
