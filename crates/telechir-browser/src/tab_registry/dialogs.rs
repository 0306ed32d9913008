//! JavaScript dialogs that wait until they are answered.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::page_notices::{PageNotices, quote_text};
use super::{RegistryState, TabRegistry};
use crate::client::{CdpClient, lock, text};

/// The text of a prompt is limited to this length, in characters; quotes are much shorter.
const MAX_TEXT_CHARS: usize = 100_000;

/// What a dialog asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialogKind {
    /// Nothing: it has one button.
    Alert,
    /// OK or Cancel.
    Confirm,
    /// A text, or Cancel.
    Prompt,
    /// Whether to leave the page.
    BeforeUnload,
}

/// The answer to `beforeunload` of an action that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageLeaving {
    Leave,
    Stay,
}

/// A dialog for which a page waits; the page does nothing else meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct OpenDialog {
    /// The session that answers it.
    pub(crate) session: String,
    pub(crate) kind: DialogKind,
    message: String,
    /// The text of a prompt: its default, until another one is typed.
    entry: String,
    has_typed: bool,
    pub(crate) report: DialogReport,
    /// How many had opened before it.
    number: u64,
}

/// Whether a result has described a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialogReport {
    None,
    /// One of this turn, which the model had not read when it chose the turn's actions.
    InThisTurn,
    /// One of an earlier turn.
    Before,
}

/// The open dialogs of all tabs.
#[derive(Debug, Default)]
pub(super) struct Dialogs {
    /// At most one for each session, the oldest first.
    open: Vec<OpenDialog>,
    /// Who wants dialogs to be cancelled at once, instead of waiting for an answer.
    cancellers: usize,
    /// How many have opened.
    opened: u64,
    /// Whether the action under way leaves a page whose `beforeunload` was open when it began.
    leaves: bool,
}

impl Dialogs {
    /// Handles a dialog that has opened.
    pub(super) fn open(
        &mut self,
        client: &CdpClient,
        notices: &mut PageNotices,
        session: &str,
        params: &Value,
    ) {
        let shorten = |value: &Value| text(value).chars().take(MAX_TEXT_CHARS).collect();
        let dialog = OpenDialog {
            session: session.to_owned(),
            kind: DialogKind::named(params["type"].as_str().unwrap_or_default()),
            message: shorten(&params["message"]),
            entry: shorten(&params["defaultPrompt"]),
            has_typed: false,
            report: DialogReport::None,
            number: self.opened,
        };
        let is_left = self.leaves && dialog.kind == DialogKind::BeforeUnload;
        if self.cancellers > 0 || is_left {
            dialog.cancel(client, notices, PageLeaving::Leave);
            return;
        }
        self.close(session);
        self.opened += 1;
        self.open.push(dialog);
    }

    /// Forgets the dialog of a session: it was closed, or the session has ended.
    pub(super) fn close(&mut self, session: &str) {
        self.open.retain(|dialog| dialog.session != session);
    }

    /// Takes the dialog of this session, else the oldest one.
    pub(super) fn take(&mut self, session: Option<&str>) -> Option<OpenDialog> {
        let of_session = |dialog: &OpenDialog| session == Some(dialog.session.as_str());
        let at = self.open.iter().position(of_session);
        let at = at.or_else(|| (!self.open.is_empty()).then_some(0))?;
        Some(self.open.remove(at))
    }

    /// The dialog of this session, else the oldest one.
    pub(super) fn get(&self, session: Option<&str>) -> Option<&OpenDialog> {
        let of_session = |dialog: &&OpenDialog| session == Some(dialog.session.as_str());
        self.open
            .iter()
            .find(of_session)
            .or_else(|| self.open.first())
    }

    pub(super) fn of_session(&self, session: &str) -> Option<&OpenDialog> {
        self.open.iter().find(|dialog| dialog.session == session)
    }

    pub(super) fn of_session_mut(&mut self, session: &str) -> Option<&mut OpenDialog> {
        self.open
            .iter_mut()
            .find(|dialog| dialog.session == session)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut OpenDialog> {
        self.open.iter_mut()
    }

    /// How many dialogs have opened and waited.
    pub(super) const fn opened(&self) -> u64 {
        self.opened
    }

    /// The open dialogs that have opened after this number of others.
    fn after(&self, opened: u64) -> impl Iterator<Item = &OpenDialog> {
        self.open
            .iter()
            .filter(move |dialog| dialog.number >= opened)
    }

    /// Cancels the open dialogs, and those that open from now on. Returns their sessions. An open
    /// `beforeunload` is cancelled with the navigation that it is about, also to leave: the next
    /// navigation asks again, and is answered until [`stop_leaving`](Self::stop_leaving).
    pub(super) fn start_cancelling(
        &mut self,
        client: &CdpClient,
        notices: &mut PageNotices,
        leaving: PageLeaving,
    ) -> Vec<String> {
        self.cancellers += 1;
        let mut leaves = false;
        let cancel = |dialog: OpenDialog| {
            if dialog.kind == DialogKind::BeforeUnload && leaving == PageLeaving::Leave {
                leaves = true;
                dialog.send_answer(client, false);
            } else {
                dialog.cancel(client, notices, leaving);
            }
            dialog.session
        };
        let sessions = self.open.drain(..).map(cancel).collect();
        self.leaves = leaves;
        sessions
    }

    /// Lets `beforeunload` wait again.
    pub(super) const fn stop_leaving(&mut self) {
        self.leaves = false;
    }

    /// Lets dialogs wait again.
    pub(super) const fn stop_cancelling(&mut self) {
        self.cancellers = self.cancellers.saturating_sub(1);
    }
}

impl DialogKind {
    fn named(name: &str) -> Self {
        match name {
            "alert" => Self::Alert,
            "prompt" => Self::Prompt,
            "beforeunload" => Self::BeforeUnload,
            _ => Self::Confirm,
        }
    }
}

impl OpenDialog {
    /// The dialog in a sentence, with the ways to answer it.
    pub(crate) fn describe(&self, tab: &str) -> String {
        let message = quote_text(&self.message);
        match self.kind {
            DialogKind::Alert => {
                format!("{tab} shows an alert: {message}. The next action closes it.")
            }
            DialogKind::Confirm => format!(
                "{tab} shows a dialog (confirm): {message}. Answer it, or press Enter for OK or Escape for Cancel; any other action on a page cancels it."
            ),
            DialogKind::Prompt => {
                let what = if self.has_typed { "text" } else { "default" };
                let entry = quote_text(&self.entry);
                format!(
                    "{tab} shows a dialog (prompt): {message}, {what} {entry}. Answer it, or type a text and press Enter, or press Escape for Cancel; any other action on a page cancels it."
                )
            }
            DialogKind::BeforeUnload => format!(
                "{tab} asks whether to leave its page (beforeunload), which may have unsaved changes. Answer it, or press Enter to leave or Escape to stay; another navigation leaves, any other action on a page stays."
            ),
        }
    }

    /// The answer as a sentence.
    pub(crate) fn describe_answer(&self, accepts: bool) -> String {
        let message = quote_text(&self.message);
        match (self.kind, accepts) {
            (DialogKind::Alert, _) => format!("The alert {message} was closed."),
            (DialogKind::Confirm, true) => {
                format!("The dialog (confirm) {message} was answered with OK.")
            }
            (DialogKind::Prompt, true) => format!(
                "The dialog (prompt) {message} was answered with {}.",
                quote_text(&self.entry)
            ),
            (DialogKind::Confirm, false) => {
                format!("The dialog (confirm) {message} was answered with Cancel.")
            }
            (DialogKind::Prompt, false) => {
                format!("The dialog (prompt) {message} was answered with Cancel.")
            }
            (DialogKind::BeforeUnload, true) => "The page is left.".to_owned(),
            (DialogKind::BeforeUnload, false) => "The page was not left.".to_owned(),
        }
    }

    /// Adds typed text: the first one replaces the default.
    pub(crate) fn write(&mut self, text: &str, clear_first: bool) {
        if clear_first || !self.has_typed {
            self.entry.clear();
        }
        self.has_typed = true;
        let room = MAX_TEXT_CHARS.saturating_sub(self.entry.chars().count());
        self.entry.extend(text.chars().take(room));
    }

    /// The CDP parameters of an answer.
    pub(crate) fn answer(&self, accepts: bool) -> Value {
        match self.kind {
            DialogKind::Prompt if accepts => json!({ "accept": true, "promptText": self.entry }),
            DialogKind::Alert
            | DialogKind::Confirm
            | DialogKind::Prompt
            | DialogKind::BeforeUnload => json!({ "accept": accepts }),
        }
    }

    fn cancel(&self, client: &CdpClient, notices: &mut PageNotices, leaving: PageLeaving) {
        let accepts = self.kind == DialogKind::BeforeUnload && leaving == PageLeaving::Leave;
        self.send_answer(client, accepts);
        notices.add(self.describe_answer(accepts));
    }

    fn send_answer(&self, client: &CdpClient, accepts: bool) {
        let answer = self.answer(accepts);
        client.notify(Some(&self.session), "Page.handleJavaScriptDialog", answer);
    }
}

impl TabRegistry {
    /// The dialog for which the active tab waits, else another tab.
    pub(crate) fn open_dialog(&self) -> Option<OpenDialog> {
        let state = lock(&self.state);
        state.dialogs.get(state.active_session()).cloned()
    }

    /// The dialog for which the tab of this session waits, as a sentence.
    pub(crate) fn describe_dialog(&self, session: &str) -> Option<String> {
        let state = lock(&self.state);
        let dialog = state.dialogs.of_session(session)?;
        Some(dialog.describe(state.name_of(session)))
    }

    /// Takes the dialog for which the active tab waits, else another tab, in order to answer it.
    pub(crate) fn take_dialog(&self) -> Option<OpenDialog> {
        let mut state = lock(&self.state);
        let active = state.active_session().map(str::to_owned);
        state.dialogs.take(active.as_deref())
    }

    /// Adds text to the prompt of a session.
    pub(crate) fn write_in_dialog(&self, session: &str, text: &str, clear_first: bool) {
        let mut state = lock(&self.state);
        if let Some(dialog) = state.dialogs.of_session_mut(session) {
            dialog.write(text, clear_first);
        }
    }

    /// Begins a turn of the model, which has read the results of earlier ones.
    pub(crate) fn begin_turn(&self) {
        for dialog in lock(&self.state).dialogs.all_mut() {
            if dialog.report == DialogReport::InThisTurn {
                dialog.report = DialogReport::Before;
            }
        }
    }

    /// All open dialogs, one sentence each; from the next turn on the model knows them.
    pub(crate) fn report_dialogs(&self) -> Option<String> {
        let mut state = lock(&self.state);
        for dialog in state.dialogs.all_mut() {
            if dialog.report == DialogReport::None {
                dialog.report = DialogReport::InThisTurn;
            }
        }
        let sessions = state.tabs.iter().map(|tab| &tab.session);
        let described: Vec<String> = sessions
            .filter_map(|session| {
                let dialog = state.dialogs.of_session(session)?;
                Some(dialog.describe(state.name_of(session)))
            })
            .collect();
        (!described.is_empty()).then(|| described.join(" "))
    }

    /// Waits until a dialog that stops the active tab waits for an answer and has done so for
    /// `grace`. Those that were among the first `opened` do not count.
    pub(crate) async fn active_tab_stopped(&self, opened: u64, grace: Duration) {
        let mut changes = self.watch();
        loop {
            if self.is_active_tab_stopped(opened) {
                sleep(grace).await;
                if self.is_active_tab_stopped(opened) {
                    return;
                }
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Whether a dialog waits in the active tab, or in one that may share its process. Those that
    /// were among the first `opened` do not count.
    fn is_active_tab_stopped(&self, opened: u64) -> bool {
        let state = lock(&self.state);
        let Some(active) = &state.active else {
            return false;
        };
        let first = state.first_opener(active);
        state.dialogs.after(opened).any(|dialog| {
            let mut tabs = state.tabs.iter();
            let tab = tabs.find(|tab| tab.session == dialog.session);
            tab.is_none_or(|tab| state.first_opener(&tab.target) == first)
        })
    }

    /// How many dialogs have opened and waited for an answer.
    pub(crate) fn dialogs_opened(&self) -> u64 {
        lock(&self.state).dialogs.opened()
    }

    /// Cancels the open dialogs, and those that open before `stop_cancelling_dialogs`. Returns the
    /// sessions of the former.
    pub(crate) fn start_cancelling_dialogs(
        &self,
        client: &CdpClient,
        leaving: PageLeaving,
    ) -> Vec<String> {
        let mut state = lock(&self.state);
        let RegistryState {
            dialogs, notices, ..
        } = &mut *state;
        dialogs.start_cancelling(client, notices, leaving)
    }

    /// Lets dialogs wait for an answer again.
    pub(crate) fn stop_cancelling_dialogs(&self) {
        lock(&self.state).dialogs.stop_cancelling();
    }

    /// Ends the action that leaves a page: `beforeunload` waits for an answer again.
    pub(crate) fn stop_leaving_pages(&self) {
        lock(&self.state).dialogs.stop_leaving();
    }
}

impl RegistryState {
    /// The tab from which this one was opened, by way of others: such tabs may share a process, in
    /// which a dialog of one stops all.
    fn first_opener<'a>(&'a self, target: &'a str) -> &'a str {
        let opener = |target: &str| {
            let tab = self.tabs.iter().find(|tab| tab.target == target)?;
            tab.opener.as_deref()
        };
        let mut first = target;
        // Openers form no circle, but events are not to be trusted with that.
        for _ in &self.tabs {
            match opener(first) {
                Some(earlier) => first = earlier,
                None => break,
            }
        }
        first
    }

    /// The session of the active tab.
    fn active_session(&self) -> Option<&str> {
        let active = self.active.as_ref()?;
        let tab = self.tabs.iter().find(|tab| tab.target == *active)?;
        Some(&tab.session)
    }

    /// The name of the tab with this session.
    fn name_of(&self, session: &str) -> &str {
        let tab = self.tabs.iter().find(|tab| tab.session == session);
        tab.map_or("A page", |tab| &tab.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> OpenDialog {
        OpenDialog {
            session: "s".to_owned(),
            kind: DialogKind::named("prompt"),
            message: "Name?".to_owned(),
            entry: "Ada".to_owned(),
            has_typed: false,
            report: DialogReport::None,
            number: 0,
        }
    }

    #[test]
    fn a_prompt_is_accepted_with_its_default_until_a_text_is_typed() {
        let mut dialog = prompt();
        assert_eq!(
            dialog.answer(true),
            json!({ "accept": true, "promptText": "Ada" })
        );
        dialog.write("Gr", false);
        dialog.write("ace", false);
        assert_eq!(dialog.answer(true)["promptText"], "Grace");
        dialog.write("Alan", true);
        assert_eq!(dialog.answer(true)["promptText"], "Alan");
        assert_eq!(dialog.answer(false), json!({ "accept": false }));
    }

    #[test]
    fn a_dialog_is_named_with_its_text_and_default() {
        let text = prompt().describe("tab_1");
        assert!(
            text.starts_with("tab_1 shows a dialog (prompt): \"Name?\", default \"Ada\"."),
            "{text}"
        );
    }
}
