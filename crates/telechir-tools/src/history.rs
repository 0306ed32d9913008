//! The last calls of a client, for `get_action_history`.

use std::collections::VecDeque;

use serde::Serialize;

/// How many calls are remembered.
const MAX_ENTRIES: usize = 50;
/// Maximum characters of a result's summary.
const MAX_SUMMARY_CHARS: usize = 500;

/// A call that ended, whatever its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// Number of the call, from 1.
    pub step: u64,
    /// Name of the tool.
    pub tool: String,
    /// The arguments as the model sent them.
    pub args: serde_json::Value,
    /// `success`, `error`, `denied` or another status.
    pub status: String,
    /// The beginning of the result's text.
    pub result_summary: String,
    /// When the call began, in milliseconds since 1970.
    pub timestamp: u64,
    /// How a model could undo it: `ctrl_z`, `check_command`, `no_undo` or `no_op`.
    pub undoable_hint: &'static str,
}

/// A ring of the last 50 calls.
#[derive(Debug, Default)]
pub struct ActionHistory {
    entries: VecDeque<HistoryEntry>,
    count: u64,
}

impl ActionHistory {
    /// Adds a call that ended.
    pub fn add(&mut self, mut entry: HistoryEntry) {
        self.count += 1;
        entry.step = self.count;
        entry.undoable_hint = undo_hint(&entry.tool);
        if let Some((end, _)) = entry.result_summary.char_indices().nth(MAX_SUMMARY_CHARS) {
            entry.result_summary.truncate(end);
        }
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// The last calls, the earliest first.
    pub fn last(&self, count: usize) -> Vec<&HistoryEntry> {
        let skipped = self.entries.len().saturating_sub(count);
        self.entries.iter().skip(skipped).collect()
    }
}

fn undo_hint(tool: &str) -> &'static str {
    match tool {
        "execute_gui" | "execute_accessible" | "computer_use" => "ctrl_z",
        "execute_cli" => "check_command",
        "observe_screen" | "get_ui_context" | "wait" | "get_action_history" => "no_op",
        _ => "no_undo",
    }
}
