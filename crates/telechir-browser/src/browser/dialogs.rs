//! Dialogs of pages: the next action answers the one that waits, or cancels it.

use telechir_device::{ActionReport, DeviceError, Effect, ScreenAction};
use telechir_protocol::{Action, ActionKind, Key, NamedKey};

use super::Browser;
use super::actions::{ActionHandler, handler_for};
use crate::cdp_session::{CdpSession, PROBE_TIMEOUT};
use crate::error::{CdpError, refused};
use crate::tab_registry::{DialogKind, DialogReport, OpenDialog, PageLeaving, Tab};

/// How long an action goes on after a dialog has opened. One that waits for the page does not end
/// before the dialog is closed; any other ends within this time.
const DIALOG_GRACE: std::time::Duration = std::time::Duration::from_millis(150);

/// What an action does to a dialog that waits.
#[derive(Debug)]
enum DialogAnswer<'a> {
    /// The explicit answer, with the text of a prompt.
    Given(bool, Option<&'a str>),
    /// The keys that a person presses: OK or Cancel.
    Pressed(bool),
    /// Text for a prompt, replacing what it has, and whether OK follows.
    Typed(&'a str, bool, bool),
    /// The action reads the page, which is possible later.
    Postponed,
    /// The action does not need the page.
    None,
    /// The action needs the page to go on.
    Cancelled,
}

/// What becomes of an action when a dialog opens in its tab and stops the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoppedAction {
    /// It does not need the page.
    GoesOn,
    /// The page got it: the dialog may be its effect.
    IsDelivered,
    /// The page got it, if another document was loaded, or is asked for.
    NeedsLoad,
    /// It has no result.
    Fails,
}

impl Browser {
    /// Performs an action if it concerns a dialog that waits; else prepares the pages for it.
    pub(super) async fn answer_dialog(
        &mut self,
        action: &ScreenAction,
    ) -> Result<Option<ActionReport>, DeviceError> {
        let Some(dialog) = self.registry.open_dialog() else {
            return match action.kind() == ActionKind::AnswerDialog {
                true => Err(refused("No page shows a dialog that waits for an answer.")),
                false => Ok(None),
            };
        };
        let is_unknown = dialog.report != DialogReport::Before && dialog.kind != DialogKind::Alert;
        let report = match answer_in(action, dialog.kind) {
            DialogAnswer::None => return Ok(None),
            DialogAnswer::Postponed => {
                return Err(refused(format!("Not executed: {}", self.dialog_text())));
            }
            // Whoever chose this action did not know the dialog: it may have replaced another one, also
            // in the turn whose first answer closed that.
            DialogAnswer::Given(..)
            | DialogAnswer::Pressed(_)
            | DialogAnswer::Typed(..)
            | DialogAnswer::Cancelled
                if is_unknown =>
            {
                return Err(refused(format!("Not executed: {}", self.dialog_text())));
            }
            DialogAnswer::Given(accepts, text) => {
                if let Some(text) = text {
                    self.registry.write_in_dialog(&dialog.session, text, true);
                }
                self.close_dialog(accepts).await?
            }
            DialogAnswer::Pressed(accepts) => self.close_dialog(accepts).await?,
            DialogAnswer::Typed(text, clears, accepts) => {
                self.registry.write_in_dialog(&dialog.session, text, clears);
                match accepts {
                    true => self.close_dialog(true).await?,
                    false => ActionReport::confirmed(),
                }
            }
            DialogAnswer::Cancelled => {
                let leaving = match handler_for(action.kind()) {
                    ActionHandler::Tab => PageLeaving::Leave,
                    ActionHandler::Pointer
                    | ActionHandler::Keyboard
                    | ActionHandler::Read
                    | ActionHandler::None => PageLeaving::Stay,
                };
                self.cancel_dialogs(leaving).await?;
                return Ok(None);
            }
        };
        Ok(Some(report))
    }

    /// Performs an action, up to the moment in which a dialog opens and stops the page.
    pub(super) async fn dispatch_until_dialog(
        &mut self,
        action: &ScreenAction,
    ) -> Result<ActionReport, DeviceError> {
        let stopped = StoppedAction::of(action);
        if stopped == StoppedAction::GoesOn {
            return self.dispatch_action(action).await;
        }
        let registry = std::sync::Arc::clone(&self.registry);
        let opened = registry.dialogs_opened();
        let before = registry.tabs();
        tokio::select! {
            biased;
            done = self.dispatch_action(action) => return done,
            () = registry.active_tab_stopped(opened, DIALOG_GRACE) => {}
        }
        let dialog = self.registry.open_dialog();
        let is_leaving = dialog.is_some_and(|dialog| dialog.kind == DialogKind::BeforeUnload);
        let has_result = match stopped {
            StoppedAction::IsDelivered => true,
            StoppedAction::NeedsLoad => is_leaving || self.has_loaded_since(&before),
            StoppedAction::GoesOn | StoppedAction::Fails => false,
        };
        match has_result {
            true => Ok(ActionReport {
                text: None,
                effect: Effect::Delivered,
            }),
            false => Err(refused(format!("Not completed: {}", self.dialog_text()))),
        }
    }

    /// Whether the active tab is new, or shows another document or URL, since there were these tabs.
    fn has_loaded_since(&self, before: &[Tab]) -> bool {
        let Some(active) = self.registry.active() else {
            return false;
        };
        let mut before = before.iter();
        let earlier = before.find(|tab| tab.target == active.target);
        earlier.is_none_or(|earlier| earlier.commits != active.commits)
    }

    /// Cancels all dialogs, also those that open next, until the pages answer again.
    pub(super) async fn cancel_dialogs(&mut self, leaving: PageLeaving) -> Result<(), DeviceError> {
        let limit = self.options.reply_timeout;
        let registry = std::sync::Arc::clone(&self.registry);
        let sessions = registry.start_cancelling_dialogs(&self.client, leaving);
        let mut answered = Ok(());
        for session in sessions {
            let page = CdpSession::new(&self.client, &session, limit);
            match page.evaluate("0").await {
                // The page may be gone, or be replaced by another one.
                Ok(_) | Err(CdpError::PageGone(_) | CdpError::Protocol { .. }) => {}
                Err(error) => answered = Err(error.into()),
            }
        }
        if let Err(error) = answered {
            answered = Err(self.recover(error).await);
        }
        registry.stop_cancelling_dialogs();
        answered
    }

    /// Fails if a dialog keeps the tab of this session from doing anything.
    pub(crate) fn check_dialog(&self, session: &str) -> Result<(), DeviceError> {
        match self.registry.describe_dialog(session) {
            Some(dialog) => Err(refused(dialog)),
            None => Ok(()),
        }
    }

    fn dialog_text(&self) -> String {
        let dialog = self.registry.open_dialog();
        let session = dialog.map(|dialog| dialog.session).unwrap_or_default();
        let text = self.registry.describe_dialog(&session);
        text.unwrap_or_else(|| "A page shows a dialog.".to_owned())
    }

    async fn close_dialog(&mut self, accepts: bool) -> Result<ActionReport, DeviceError> {
        let Some(dialog) = self.registry.take_dialog() else {
            return Err(refused("The dialog was closed meanwhile."));
        };
        let page = CdpSession::new(&self.client, &dialog.session, PROBE_TIMEOUT);
        let answer = dialog.answer(accepts);
        match page.call("Page.handleJavaScriptDialog", answer).await {
            Ok(_) | Err(CdpError::Timeout { .. } | CdpError::PageGone(_)) => {}
            Err(CdpError::Protocol { message, .. }) => {
                return Err(refused(format!(
                    "The dialog was closed meanwhile ({message})."
                )));
            }
            Err(error @ CdpError::Lost { .. }) => return Err(error.into()),
        }
        Ok(reading(OpenDialog::describe_answer(&dialog, accepts)))
    }
}

impl StoppedAction {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "any other action that reads has no result without the page"
    )]
    fn of(action: &ScreenAction) -> Self {
        match (handler_for(action.kind()), action) {
            (ActionHandler::Pointer | ActionHandler::Keyboard, _) => Self::IsDelivered,
            (ActionHandler::Tab, Action::SwitchTab { .. } | Action::CloseTab { .. }) => {
                Self::IsDelivered
            }
            (ActionHandler::Tab, _) => Self::NeedsLoad,
            (ActionHandler::None, _) => Self::GoesOn,
            (ActionHandler::Read, action) => match action {
                Action::FormInput { .. } | Action::ScrollTo { .. } | Action::FileUpload { .. } => {
                    Self::IsDelivered
                }
                // They concern the browser, or a tab that pages cannot stop.
                Action::ListTabs
                | Action::CursorPosition
                | Action::ReadNetwork { .. }
                | Action::ListCookies { .. }
                | Action::SetCookies { .. }
                | Action::ClearCookies { .. }
                | Action::SaveStorageState { .. }
                | Action::LoadStorageState { .. } => Self::GoesOn,
                _ => Self::Fails,
            },
        }
    }
}

fn reading(text: String) -> ActionReport {
    ActionReport {
        text: Some(text),
        ..ActionReport::confirmed()
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "any action that is not known to leave the page alone needs it"
)]
fn answer_in(action: &ScreenAction, kind: DialogKind) -> DialogAnswer<'_> {
    match action {
        Action::AnswerDialog { accept, text } => DialogAnswer::Given(*accept, text.as_deref()),
        Action::Key { chord, repeat: 1 } => match chord.keys() {
            [Key::Named(NamedKey::Enter)] => DialogAnswer::Pressed(true),
            [Key::Named(NamedKey::Escape)] => DialogAnswer::Pressed(false),
            _ => DialogAnswer::Cancelled,
        },
        Action::Type {
            text,
            clear_first,
            submit,
            ..
        } if kind == DialogKind::Prompt => {
            let line = text.trim_end_matches(['\r', '\n']);
            DialogAnswer::Typed(line, *clear_first, *submit || line.len() < text.len())
        }
        Action::ReadPage { .. }
        | Action::PageText { .. }
        | Action::Find { .. }
        | Action::WaitFor { .. }
        | Action::ReadRequest { .. }
        | Action::ReadConsole { .. } => DialogAnswer::Postponed,
        Action::ListTabs
        | Action::CursorPosition
        | Action::ReadNetwork { .. }
        | Action::ListCookies { .. }
        | Action::SaveStorageState { .. } => DialogAnswer::None,
        _ => DialogAnswer::Cancelled,
    }
}
