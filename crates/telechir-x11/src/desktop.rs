//! The [`Computer`] on an X server.

use std::sync::Arc;

use async_trait::async_trait;
use telechir_device::{
    ActionReport, Computer, DeviceError, Frame, InputWindows, PartLocation, ScreenAction,
    ScreenPart, ScreenRegion, ScreenViewer, Settle, Settled, StopSignal, Viewport, Window,
    WindowSystem,
};
use telechir_protocol::{Action, ActionKind, Key, Size};
use tokio::time::Instant;

use crate::clipboard::Selection;
use crate::display::XDisplay;
use crate::display_io::DisplayIo;
use crate::error::XError;
use crate::existing::ExistingDisplay;
use crate::keysym;
use crate::kill_switch::{self, KillSwitch, KillSwitchWatch};
use crate::launch;
use crate::monitors;
use crate::paste::Typing;
use crate::private::PrivateDisplay;
use crate::settle::SettleMode;
use crate::viewer::XViewer;

/// Name of this device in errors.
const DEVICE_NAME: &str = "desktop";
/// The actions that [`Computer::perform`] supports on every display.
const ACTIONS: [ActionKind; 25] = [
    ActionKind::CursorPosition,
    ActionKind::Move,
    ActionKind::Hover,
    ActionKind::Click,
    ActionKind::MouseDown,
    ActionKind::MouseUp,
    ActionKind::Drag,
    ActionKind::Scroll,
    ActionKind::Type,
    ActionKind::Key,
    ActionKind::HoldKey,
    ActionKind::KeyDown,
    ActionKind::KeyUp,
    ActionKind::ListWindows,
    ActionKind::FocusWindow,
    ActionKind::MaximizeWindow,
    ActionKind::RestoreWindow,
    ActionKind::MinimizeWindow,
    ActionKind::CloseWindow,
    ActionKind::PlaceWindow,
    ActionKind::CaptureWindow,
    ActionKind::ListMonitors,
    ActionKind::CaptureMonitor,
    ActionKind::ReadClipboard,
    ActionKind::WriteClipboard,
];

impl PrivateDisplay {
    /// Opens a computer on this display, which ends with it.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn into_desktop(self) -> Result<Desktop, DeviceError> {
        Desktop::open(XDisplay::Private(Box::new(self))).await
    }
}

impl ExistingDisplay {
    /// Opens a computer on this display.
    ///
    /// # Errors
    /// When the server lacks an extension or is gone.
    pub async fn into_desktop(self) -> Result<Desktop, DeviceError> {
        Desktop::open(XDisplay::Existing(self)).await
    }
}

/// A complete desktop: captures the screen and performs pointer, keyboard, window and clipboard
/// actions.
///
/// Created by [`PrivateDisplay::into_desktop`] and
/// [`ExistingDisplay::into_desktop`](crate::ExistingDisplay::into_desktop).
#[derive(Debug)]
pub struct Desktop {
    pub(crate) io: DisplayIo,
    pub(crate) display: XDisplay,
    /// Scale between screen and screenshot.
    viewport: Viewport,
    /// The visible part of the screen; absent if all of it is visible.
    visible_part: Option<ScreenRegion>,
    typing: Typing,
    /// Time of the latest action; absent if the screen has settled since.
    acted_at: Option<Instant>,
    /// Whether a private display is restarted after its server exits.
    pub(crate) restarts: bool,
    switch: Option<KillSwitchWatch>,
}

impl Desktop {
    pub(crate) async fn open(display: XDisplay) -> Result<Self, DeviceError> {
        let io = DisplayIo::on(display.connect().await?).await?;
        let viewport = Viewport::unscaled(io.view.size());
        Ok(Self {
            io,
            display,
            viewport,
            visible_part: None,
            typing: Typing::default(),
            acted_at: Some(Instant::now()),
            restarts: false,
            switch: None,
        })
    }

    /// Sets how text is entered.
    #[must_use]
    pub const fn typing(mut self, typing: Typing) -> Self {
        self.typing = typing;
        self
    }

    /// Limits screenshots to one monitor, selected by name or number.
    ///
    /// # Errors
    /// When no monitor matches.
    pub async fn on_monitor(mut self, name: &str) -> Result<Self, DeviceError> {
        let listed = monitors::list(&self.io.view.connection).await?;
        let monitor = monitors::choose(&listed, Some(name))?;
        self.visible_part = Some(monitor.region(self.io.view.size())?);
        Ok(self)
    }

    /// Lets the user stop the session: the running action is cancelled, its keys are released, and
    /// all later actions are refused.
    ///
    /// # Errors
    /// When the keyboard lacks the key or another client has grabbed it.
    pub async fn with_kill_switch(mut self, wanted: &KillSwitch) -> Result<Self, DeviceError> {
        let synthetic_pointer = Arc::clone(self.io.view.connection.synthetic_pointer());
        self.switch = Some(KillSwitchWatch::start(wanted, &self.display, synthetic_pointer).await?);
        Ok(self)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other actions go to the window manager or are unsupported"
    )]
    async fn execute(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.io.check_pointer(action).await?;
        match action {
            Action::CursorPosition => self.io.cursor_position(self.viewport).await,
            Action::Move { at } | Action::Hover { at } => self.io.move_to(at).await,
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => self.io.click(at.as_ref(), *button, *count, modifiers).await,
            Action::MouseDown { at, button } => self.io.mouse_down(at.as_ref(), *button).await,
            Action::MouseUp { at, button } => self.io.mouse_up(at.as_ref(), *button).await,
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => self.io.drag(path, *button, modifiers, *duration).await,
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                self.io
                    .scroll(at.as_ref(), (*dx, *dy, *unit), modifiers)
                    .await
            }
            Action::Type {
                text,
                at,
                clear_first,
                submit,
            } => {
                let paste = (self.typing == Typing::Paste).then_some(&self.display);
                self.io
                    .type_text(text, at.as_ref(), *clear_first, *submit, paste)
                    .await
            }
            Action::Key { chord, repeat } => self.io.key(chord, *repeat).await,
            Action::HoldKey { chord, duration } => self.io.hold_key(chord, *duration).await,
            Action::KeyDown { chord } => self.io.key_down(chord).await,
            Action::KeyUp { chord } => self.io.key_up(chord).await,
            Action::ReadClipboard => self.read_clipboard().await,
            Action::WriteClipboard { text } => self.write_clipboard(text).await,
            Action::OpenApp { name } if self.display.starts_programs() => {
                let DisplayIo { view, windows, .. } = &mut self.io;
                launch::open(name, &mut self.display, &view.connection, windows).await
            }
            Action::ListMonitors => {
                let listed = monitors::list(&self.io.view.connection).await?;
                Ok(ActionReport {
                    text: Some(monitors::render(&listed, self.viewport)),
                    ..ActionReport::confirmed()
                })
            }
            other => self.act_on_windows(other).await,
        }
    }

    /// Adds what was done since the last action to keep the display usable.
    fn with_notices(&self, mut report: ActionReport) -> ActionReport {
        let notices = self.display.take_notices();
        if !notices.is_empty() {
            let text = report.text.take().into_iter().chain(notices);
            report.text = Some(text.collect::<Vec<_>>().join("\n"));
        }
        report
    }

    pub(crate) const fn has_kill_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Actions that go through the window manager.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other actions are unsupported on a desktop"
    )]
    async fn act_on_windows(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        let viewport = self.viewport;
        let DisplayIo {
            view, wm, windows, ..
        } = &mut self.io;
        let wm = (&view.connection, &*wm);
        let report = match action {
            Action::ListWindows => {
                let listed = windows.list(wm.0).await?;
                let monitors = monitors::list(wm.0).await?;
                Ok(ActionReport {
                    text: Some(windows.render(&listed, &monitors, viewport)),
                    ..ActionReport::confirmed()
                })
            }
            Action::FocusWindow { window } => windows.focus(wm, window).await,
            Action::MaximizeWindow { window } => windows.maximize(wm, window.as_deref()).await,
            Action::RestoreWindow { window } => windows.restore(wm, window.as_deref()).await,
            Action::MinimizeWindow { window } => windows.minimize(wm, window.as_deref()).await,
            Action::CloseWindow { window } => windows.close(wm.0, window.as_deref()).await,
            Action::PlaceWindow { window, region } => {
                windows
                    .move_and_resize(wm, window.as_deref(), region, viewport)
                    .await
            }
            other => {
                return Err(DeviceError::Unsupported {
                    action: other.kind().name().to_owned(),
                    device: DEVICE_NAME,
                });
            }
        };
        Ok(report?)
    }

    async fn read_clipboard(&self) -> Result<ActionReport, DeviceError> {
        let DisplayIo {
            view, clipboard, ..
        } = &self.io;
        let text = clipboard
            .read(&view.connection, Selection::Clipboard)
            .await?;
        let text = match text {
            Some(text) => shorten(text),
            None => "The clipboard is empty.".to_owned(),
        };
        Ok(ActionReport {
            text: Some(text),
            ..ActionReport::confirmed()
        })
    }

    async fn write_clipboard(&mut self, text: &str) -> Result<ActionReport, DeviceError> {
        let Self { io, display, .. } = self;
        io.clipboard
            .write(display, Selection::Clipboard, text)
            .await?;
        Ok(ActionReport::confirmed())
    }

    /// Environment variables for programs that open windows on this display.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.display.environment()
    }

    /// The private display, to start applications on it; `None` on an existing display. Counts as
    /// an action for settling.
    pub fn private_display(&mut self) -> Option<&mut PrivateDisplay> {
        self.acted_at = Some(Instant::now());
        self.display.private()
    }

    /// Releases keys and buttons and ends every program on a private display.
    ///
    /// # Errors
    /// When something could not be ended; the rest was.
    pub async fn close(self) -> Result<(), DeviceError> {
        let Self {
            mut io,
            display,
            switch,
            ..
        } = self;
        drop(switch);
        // If the server is gone, nothing is pressed and no mapping needs to be restored.
        let _best_effort = io.release().await;
        if display.is_detached() {
            let _best_effort = io.restore_layout().await;
        }
        drop(io);
        display.close().await
    }
}

/// Truncates a long text and appends the number of characters left out.
fn shorten(mut text: String) -> String {
    const MAX_REPORT_BYTES: usize = 64 << 10;
    if text.len() <= MAX_REPORT_BYTES {
        return text;
    }
    let end = (0..=MAX_REPORT_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let rest = text[end..].chars().count();
    text.truncate(end);
    text.push_str(&format!("\n[… {rest} more characters]"));
    text
}

#[async_trait]
impl Computer for Desktop {
    fn size(&self) -> Size {
        self.io.view.size()
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        let opens = *kind == ActionKind::OpenApp && self.display.starts_programs();
        opens || ACTIONS.contains(kind)
    }

    fn has_key(&self, key: &Key) -> bool {
        match key {
            Key::Other(name) => keysym::of_name(name).is_some(),
            Key::Modifier(_) | Key::Named(_) | Key::Char(_) => true,
        }
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = self.io.view.capture().await.map_err(DeviceError::from);
        self.or_restart(frame).await
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        if !matches!(
            action,
            Action::CursorPosition | Action::ListWindows | Action::ListMonitors
        ) {
            if self.acted_at.is_none() {
                self.io.view.before_action().await?;
            }
            self.acted_at = Some(Instant::now());
        }
        let receiver = self.switch.as_ref().map(KillSwitchWatch::subscribe);
        let outcome = tokio::select! {
            biased;
            // Dropping the future of the action releases the inputs it pressed.
            reason = kill_switch::stopped(receiver) => Err(DeviceError::Stopped { why: reason }),
            outcome = self.execute(action) => outcome,
        };
        // For actions that take time, settling counts from their end.
        self.acted_at = self.acted_at.map(|_| Instant::now());
        if let Err(DeviceError::Stopped { .. }) = outcome {
            self.io.release().await?;
        }
        let outcome = self.or_restart(outcome).await;
        Ok(self.with_notices(outcome?))
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let programs = self.display.programs();
        let acted_at = self.acted_at;
        let settled = self
            .io
            .view
            .settle(settle, acted_at, programs.as_deref(), SettleMode::Effect)
            .await;
        self.acted_at = None;
        self.or_restart(settled.map_err(DeviceError::from)).await
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        Ok(self.io.release().await?)
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Self::close(*self).await
    }

    fn kill_switch(&self) -> Option<&dyn StopSignal> {
        self.switch.as_ref().map(|switch| switch as &dyn StopSignal)
    }

    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        let display = self.display.address();
        Some(Box::new(XViewer::new(display, self.visible_part)))
    }

    fn window_system(&mut self) -> Option<&mut dyn WindowSystem> {
        Some(self)
    }
}

#[async_trait]
impl WindowSystem for Desktop {
    async fn windows(&mut self) -> Result<Vec<Window>, DeviceError> {
        let DisplayIo { view, windows, .. } = &mut self.io;
        let listed = match windows.list(&view.connection).await {
            Ok(listed) => listed,
            // This display has no window manager.
            Err(XError::Impossible(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let active = listed.active;
        let all = listed.windows.into_iter().map(|window| Window {
            id: windows.name(window.window),
            bounds: window.bounds.to_bounds(),
            content: window.content().to_bounds(),
            is_active: active == Some(window.window),
            is_dialog: window.kind == Some("dialog") || window.state.is_modal,
            is_shown: !window.state.is_minimized,
            title: window.title,
            class: window.class,
            instance: window.instance,
        });
        Ok(all.collect())
    }

    async fn input_windows(
        &mut self,
        actions: &[Option<ScreenAction>],
    ) -> Result<InputWindows, DeviceError> {
        let DisplayIo {
            view,
            windows,
            keyboard,
            ..
        } = &mut self.io;
        let (connection, focus) = (&view.connection, &keyboard.focus);
        let mut listed = windows.input_windows(connection, focus).await?;
        for action in actions {
            listed.under.push(match action {
                Some(action) => windows.pointed(connection, focus, action).await?,
                None => None,
            });
        }
        Ok(listed)
    }

    fn limit_input(&mut self, to: Option<Vec<Vec<String>>>) {
        self.io.input_limit.set(to);
    }

    fn visible_region(&self) -> ScreenRegion {
        let full_screen = ScreenRegion::of_screen(self.size());
        self.visible_part.unwrap_or(full_screen)
    }

    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError> {
        let viewport = self.viewport;
        let DisplayIo { view, windows, .. } = &mut self.io;
        let screen = view.size();
        match part {
            ScreenPart::Window(window) => {
                let seen = (screen, viewport);
                let location = windows.locate(&view.connection, window.as_deref(), seen);
                Ok(location.await?)
            }
            ScreenPart::Monitor(meant) => {
                let listed = monitors::list(&view.connection).await?;
                let monitor = monitors::choose(&listed, meant.as_deref())?;
                let region = monitor.region(screen)?;
                let description = format!("{}.", monitor.label(viewport));
                Ok(PartLocation {
                    region,
                    description,
                })
            }
        }
    }

    fn set_viewport(&mut self, viewport: Viewport) {
        self.viewport = viewport;
    }

    fn note_action(&mut self) {
        self.acted_at = Some(Instant::now());
    }
}
