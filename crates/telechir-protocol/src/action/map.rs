//! Converts the targets and regions of an action.

use std::convert::Infallible;

use super::Action;

impl<T, R> Action<T, R> {
    /// Converts each target and region of the action.
    ///
    /// # Errors
    /// The first error of the two functions.
    pub fn try_map<U, Q, E>(
        self,
        at: &mut impl FnMut(T) -> Result<U, E>,
        in_region: &mut impl FnMut(R) -> Result<Q, E>,
    ) -> Result<Action<U, Q>, E> {
        Ok(match self {
            Self::Screenshot => Action::Screenshot,
            Self::Zoom { region } => Action::Zoom {
                region: in_region(region)?,
            },
            Self::CursorPosition => Action::CursorPosition,
            Self::Move { at: to } => Action::Move { at: at(to)? },
            Self::Click {
                at: to,
                button,
                count,
                modifiers,
            } => Action::Click {
                at: maybe(to, at)?,
                button,
                count,
                modifiers,
            },
            Self::MouseDown { at: to, button } => Action::MouseDown {
                at: maybe(to, at)?,
                button,
            },
            Self::MouseUp { at: to, button } => Action::MouseUp {
                at: maybe(to, at)?,
                button,
            },
            Self::Drag {
                path,
                button,
                modifiers,
                duration,
            } => {
                let path = path.into_iter().map(&mut *at).collect::<Result<_, _>>()?;
                Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
                }
            }
            Self::Scroll {
                at: to,
                dx,
                dy,
                unit,
                modifiers,
            } => Action::Scroll {
                at: maybe(to, at)?,
                dx,
                dy,
                unit,
                modifiers,
            },
            Self::Type {
                text,
                at: to,
                clear_first,
                submit,
            } => Action::Type {
                text,
                at: maybe(to, at)?,
                clear_first,
                submit,
            },
            Self::Key { chord, repeat } => Action::Key { chord, repeat },
            Self::HoldKey { chord, duration } => Action::HoldKey { chord, duration },
            Self::KeyDown { chord } => Action::KeyDown { chord },
            Self::KeyUp { chord } => Action::KeyUp { chord },
            Self::Wait { duration } => Action::Wait { duration },
            Self::WaitFor {
                text,
                at: to,
                gone,
                url,
                idle,
                duration,
                tab,
            } => Action::WaitFor {
                text,
                at: maybe(to, at)?,
                gone,
                url,
                idle,
                duration,
                tab,
            },
            Self::Navigate { url, tab } => Action::Navigate { url, tab },
            Self::Back { tab } => Action::Back { tab },
            Self::Forward { tab } => Action::Forward { tab },
            Self::Reload { tab } => Action::Reload { tab },
            Self::Search { query } => Action::Search { query },
            Self::OpenBrowser { url } => Action::OpenBrowser { url },
            Self::ListTabs => Action::ListTabs,
            Self::NewTab { url } => Action::NewTab { url },
            Self::SwitchTab { tab } => Action::SwitchTab { tab },
            Self::CloseTab { tab } => Action::CloseTab { tab },
            Self::ObserveScreen { mode, intent } => Action::ObserveScreen { mode, intent },
            Self::ReadPage {
                filter,
                depth,
                root,
                tab,
            } => Action::ReadPage {
                filter,
                depth,
                root: maybe(root, at)?,
                tab,
            },
            Self::PageText { tab } => Action::PageText { tab },
            Self::Find { query, tab } => Action::Find { query, tab },
            Self::FormInput { at: to, value, tab } => Action::FormInput {
                at: at(to)?,
                value,
                tab,
            },
            Self::FileUpload {
                at: to,
                paths,
                documents,
                tab,
            } => Action::FileUpload {
                at: at(to)?,
                paths,
                documents,
                tab,
            },
            Self::ScrollTo { at: to, tab } => Action::ScrollTo { at: at(to)?, tab },
            Self::Hover { at: to } => Action::Hover { at: at(to)? },
            Self::Javascript { script, tab } => Action::Javascript { script, tab },
            Self::ReadConsole { tab } => Action::ReadConsole { tab },
            Self::ReadNetwork { tab } => Action::ReadNetwork { tab },
            Self::ReadRequest { request, tab } => Action::ReadRequest { request, tab },
            Self::AnswerDialog { accept, text } => Action::AnswerDialog { accept, text },
            Self::Emulate { settings } => Action::Emulate { settings },
            Self::ListCookies { url } => Action::ListCookies { url },
            Self::SetCookies { cookies } => Action::SetCookies { cookies },
            Self::ClearCookies { url } => Action::ClearCookies { url },
            Self::SaveStorageState { path } => Action::SaveStorageState { path },
            Self::LoadStorageState { path } => Action::LoadStorageState { path },
            Self::SavePdf { path, tab } => Action::SavePdf { path, tab },
            Self::CaptureElement { at: to } => Action::CaptureElement { at: at(to)? },
            Self::ListWindows => Action::ListWindows,
            Self::FocusWindow { window } => Action::FocusWindow { window },
            Self::MaximizeWindow { window } => Action::MaximizeWindow { window },
            Self::RestoreWindow { window } => Action::RestoreWindow { window },
            Self::MinimizeWindow { window } => Action::MinimizeWindow { window },
            Self::CloseWindow { window } => Action::CloseWindow { window },
            Self::PlaceWindow { window, region } => Action::PlaceWindow {
                window,
                region: in_region(region)?,
            },
            Self::CaptureWindow { window } => Action::CaptureWindow { window },
            Self::ListMonitors => Action::ListMonitors,
            Self::CaptureMonitor { monitor } => Action::CaptureMonitor { monitor },
            Self::ReadClipboard => Action::ReadClipboard,
            Self::WriteClipboard { text } => Action::WriteClipboard { text },
            Self::Invoke { at: to, name } => Action::Invoke { at: at(to)?, name },
            Self::OpenApp { name } => Action::OpenApp { name },
            Self::LongPress { at: to, duration } => Action::LongPress {
                at: at(to)?,
                duration,
            },
            Self::Other { name, args } => Action::Other { name, args },
        })
    }
}

impl<T: Clone, R: Clone> Action<T, R> {
    /// All targets of the action, in the order in which it reaches them.
    pub fn targets(&self) -> Vec<T> {
        let mut targets = Vec::new();
        let _collected = self.clone().try_map(
            &mut |target| {
                targets.push(target);
                Ok::<_, Infallible>(())
            },
            &mut Ok,
        );
        targets
    }
}

fn maybe<T, U, E>(
    target: Option<T>,
    at: &mut impl FnMut(T) -> Result<U, E>,
) -> Result<Option<U>, E> {
    target.map(at).transpose()
}
