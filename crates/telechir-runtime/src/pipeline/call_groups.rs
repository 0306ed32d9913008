//! Tool groups of a turn's computer calls: after a failure the rest of the group is not started.

use std::collections::{HashMap, HashSet};

use telechir_protocol::{Action, ActionKind, ComputerCall, Failure, FailureKind, ToolCall};

use crate::AutoScreenshot;

/// The computer calls of a turn by tool group.
#[derive(Debug)]
pub(super) struct CallGroups {
    auto_screenshot: AutoScreenshot,
    screenshot_call: HashMap<String, usize>,
    failed: HashSet<String>,
}

impl CallGroups {
    pub(super) fn new(calls: &[ToolCall], auto_screenshot: AutoScreenshot) -> Self {
        let mut screenshot_call = HashMap::new();
        for (index, call) in calls.iter().enumerate() {
            if let ToolCall::Computer(call) = call
                && may_show_screenshot(call)
            {
                screenshot_call.insert(group_of(call), index);
            }
        }
        Self {
            auto_screenshot,
            screenshot_call,
            failed: HashSet::new(),
        }
    }

    /// Why a call is not started, if an earlier one of its group failed.
    pub(super) fn refusal(&self, call: &ComputerCall) -> Option<Failure> {
        self.failed.contains(&group_of(call)).then(|| {
            let message = "Not executed: an earlier action in this turn failed.";
            Failure::new(FailureKind::NotExecuted, message)
        })
    }

    pub(super) fn fail(&mut self, call: &ComputerCall) {
        self.failed.insert(group_of(call));
    }

    /// Whether the result of this call must include a screenshot.
    pub(super) fn wants_screenshot(
        &self,
        call: &ComputerCall,
        index: usize,
        failure: Option<&Failure>,
    ) -> bool {
        match (self.auto_screenshot, failure) {
            (AutoScreenshot::EveryCall, _) => true,
            (AutoScreenshot::OnRequest | AutoScreenshot::Never, _) => false,
            // The failed call before it included a screenshot, and nothing happened since.
            (AutoScreenshot::LastOfBatch, Some(failure)) => {
                failure.kind != FailureKind::NotExecuted && may_show_screenshot(call)
            }
            (AutoScreenshot::LastOfBatch, None) => {
                self.screenshot_call.get(&group_of(call)) == Some(&index)
            }
        }
    }
}

/// Whether the result of a call can include a screenshot; a call with only tab actions cannot.
fn may_show_screenshot(call: &ComputerCall) -> bool {
    let is_tab_action = |action: &Action| {
        matches!(
            action.kind(),
            ActionKind::ListTabs
                | ActionKind::NewTab
                | ActionKind::SwitchTab
                | ActionKind::CloseTab
        )
    };
    call.actions.is_empty() || !call.actions.iter().all(is_tab_action)
}

fn group_of(call: &ComputerCall) -> String {
    call.group.clone().unwrap_or_else(|| "computer".to_owned())
}
