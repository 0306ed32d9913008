//! The computer of an X server.

use std::sync::Arc;

use telechir_device::{
    ActionReport, Computer, DeviceError, Frame, PageContext, PartLocation, ScreenAction,
    ScreenPart, ScreenRegion, Settle, Settled, UntilStopped, Viewport, Window,
};
use telechir_protocol::{Action, ActionKind, Size};
use tokio::time::Instant;

use crate::PrivateDisplay;
use crate::clipboard::Selection;
use crate::display::Display;
use crate::display_io::Body;
use crate::error::XError;
use crate::kill_switch::{self, KillSwitch, Switch};
use crate::launch;
use crate::monitors;
use crate::paste::Typing;
use crate::settle::Patience;

/// What this device calls itself in errors.
const NAME: &str = "desktop";
/// What [`Computer::perform`] carries out.
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

/// A whole desktop: what is on the screen can be seen, and pointer and keys go where the model
/// says.
///
/// Made by [`PrivateDisplay::into_desktop`] and
/// [`ExistingDisplay::into_desktop`](crate::ExistingDisplay::into_desktop).
#[derive(Debug)]
pub struct Desktop {
    pub(crate) body: Body,
    pub(crate) display: Display,
    /// How the model sees the screen.
    viewport: Viewport,
    /// What of the screen is shown to it, when that is not all.
    part: Option<ScreenRegion>,
    typing: Typing,
    /// When something was last done, if that was after the last wait for a still screen.
    acted: Option<Instant>,
    /// Whether a lost private display is replaced by a fresh one.
    pub(crate) begins_anew: bool,
    switch: Option<Switch>,
}

impl Desktop {
    pub(crate) async fn open(display: Display) -> Result<Self, DeviceError> {
        let body = Body::on(display.connect().await?).await?;
        let viewport = Viewport::unscaled(body.eyes.size());
        Ok(Self {
            body,
            display,
            viewport,
            part: None,
            typing: Typing::default(),
            acted: Some(Instant::now()),
            begins_anew: false,
            switch: None,
        })
    }

    /// Enters text in another way than key by key.
    #[must_use]
    pub const fn typing(mut self, typing: Typing) -> Self {
        self.typing = typing;
        self
    }

    /// Shows the model one monitor, by its name or its number, and nothing beside it.
    ///
    /// # Errors
    /// When there is no such monitor.
    pub async fn on_monitor(mut self, name: &str) -> Result<Self, DeviceError> {
        let listed = monitors::list(&self.body.eyes.connection).await?;
        let monitor = monitors::choose(&listed, Some(name))?;
        self.part = Some(monitor.region(self.body.eyes.size())?);
        Ok(self)
    }

    /// Gives a person a way to stop it: the action under way ends with its keys released, and
    /// nothing is done any more.
    ///
    /// # Errors
    /// When the key is not on the keyboard or another program has it.
    pub async fn with_kill_switch(mut self, wanted: &KillSwitch) -> Result<Self, DeviceError> {
        let hand = Arc::clone(self.body.eyes.connection.hand());
        self.switch = Some(Switch::start(wanted, &self.display, hand).await?);
        Ok(self)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever is not a matter of pointer and keys is not for a desktop"
    )]
    async fn carry_out(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        match action {
            Action::CursorPosition => self.body.cursor_position(self.viewport).await,
            Action::Move { at } | Action::Hover { at } => self.body.move_to(at).await,
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                self.body
                    .click(at.as_ref(), *button, *count, modifiers)
                    .await
            }
            Action::MouseDown { at, button } => self.body.mouse_down(at.as_ref(), *button).await,
            Action::MouseUp { at, button } => self.body.mouse_up(at.as_ref(), *button).await,
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => self.body.drag(path, *button, modifiers, *duration).await,
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                self.body
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
                self.body
                    .type_text(text, at.as_ref(), *clear_first, *submit, paste)
                    .await
            }
            Action::Key { chord, repeat } => self.body.key(chord, *repeat).await,
            Action::HoldKey { chord, duration } => self.body.hold_key(chord, *duration).await,
            Action::KeyDown { chord } => self.body.key_down(chord).await,
            Action::KeyUp { chord } => self.body.key_up(chord).await,
            Action::ReadClipboard => self.read_clipboard().await,
            Action::WriteClipboard { text } => self.write_clipboard(text).await,
            Action::OpenApp { name } if self.display.starts_programs() => {
                let Body { eyes, windows, .. } = &mut self.body;
                launch::open(name, &mut self.display, &eyes.connection, windows).await
            }
            Action::ListMonitors => {
                let listed = monitors::list(&self.body.eyes.connection).await?;
                Ok(ActionReport {
                    text: Some(monitors::say(&listed, self.viewport)),
                    ..ActionReport::confirmed()
                })
            }
            other => self.act_on_windows(other).await,
        }
    }

    pub(crate) const fn has_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// What is asked of the window manager.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what a desktop does is listed; whatever else there is belongs to pages"
    )]
    async fn act_on_windows(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        let viewport = self.viewport;
        let Body {
            eyes,
            manager,
            windows,
            ..
        } = &mut self.body;
        let way = (&eyes.connection, &*manager);
        let performed = match action {
            Action::ListWindows => {
                let listed = windows.list(way.0).await?;
                Ok(ActionReport {
                    text: Some(windows.say(&listed, viewport)),
                    ..ActionReport::confirmed()
                })
            }
            Action::FocusWindow { window } => windows.focus(way, window).await,
            Action::MaximizeWindow { window } => windows.maximize(way, window.as_deref()).await,
            Action::RestoreWindow { window } => windows.restore(way, window.as_deref()).await,
            Action::MinimizeWindow { window } => windows.minimize(way, window.as_deref()).await,
            Action::CloseWindow { window } => windows.close(way.0, window.as_deref()).await,
            Action::PlaceWindow { window, region } => {
                windows
                    .place(way, window.as_deref(), region, viewport)
                    .await
            }
            other => {
                return Err(DeviceError::Unsupported {
                    action: other.kind().name().to_owned(),
                    device: NAME,
                });
            }
        };
        Ok(performed?)
    }

    async fn read_clipboard(&self) -> Result<ActionReport, DeviceError> {
        let Body {
            eyes, clipboard, ..
        } = &self.body;
        let text = clipboard
            .read(&eyes.connection, Selection::Clipboard)
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
        let Self { body, display, .. } = self;
        body.clipboard
            .write(display, Selection::Clipboard, text)
            .await?;
        Ok(ActionReport::confirmed())
    }

    /// Variables that a program needs to show windows here.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.display.environment()
    }

    /// The display it is on, when that is one of our own: to start applications there.
    pub fn private_display(&mut self) -> Option<&mut PrivateDisplay> {
        self.acted = Some(Instant::now());
        self.display.private()
    }
}

/// The head of a text that is too long for an answer, saying how much is missing.
fn shorten(mut text: String) -> String {
    const MOST: usize = 64 << 10;
    if text.len() <= MOST {
        return text;
    }
    let end = (0..=MOST)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let rest = text[end..].chars().count();
    text.truncate(end);
    text.push_str(&format!("\n[… {rest} more characters]"));
    text
}

impl Computer for Desktop {
    fn size(&self) -> Size {
        self.body.eyes.size()
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        let opens = *kind == ActionKind::OpenApp && self.display.starts_programs();
        opens || ACTIONS.contains(kind)
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = self.body.eyes.capture().await.map_err(DeviceError::from);
        self.or_anew(frame).await
    }

    fn stopped(&self) -> Option<&'static str> {
        self.switch.as_ref().and_then(Switch::why)
    }

    fn until_stopped(&self) -> UntilStopped {
        Box::pin(kill_switch::stopped(self.switch.as_ref().map(Switch::told)))
    }

    fn visible_region(&self) -> ScreenRegion {
        let whole = ScreenRegion::whole(self.size());
        self.part.unwrap_or(whole)
    }

    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError> {
        let viewport = self.viewport;
        let Body { eyes, windows, .. } = &mut self.body;
        let screen = eyes.size();
        match part {
            ScreenPart::Window(window) => {
                let seen = (screen, viewport);
                let place = windows.locate(&eyes.connection, window.as_deref(), seen);
                Ok(place.await?)
            }
            ScreenPart::Monitor(meant) => {
                let listed = monitors::list(&eyes.connection).await?;
                let monitor = monitors::choose(&listed, meant.as_deref())?;
                let region = monitor.region(screen)?;
                let said = format!("{}.", monitor.label(viewport));
                Ok(PartLocation {
                    region,
                    description: said,
                })
            }
        }
    }

    fn set_viewport(&mut self, viewport: Viewport) {
        self.viewport = viewport;
    }

    fn note_action(&mut self) {
        self.acted = Some(Instant::now());
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        if !matches!(
            action,
            Action::CursorPosition | Action::ListWindows | Action::ListMonitors
        ) {
            if self.acted.is_none() {
                self.body.eyes.before().await?;
            }
            self.acted = Some(Instant::now());
        }
        let told = self.switch.as_ref().map(Switch::told);
        let outcome = tokio::select! {
            biased;
            // The action's future is dropped, and with it what it pressed is released.
            why = kill_switch::stopped(told) => Err(DeviceError::Stopped { why }),
            outcome = self.carry_out(action) => outcome,
        };
        // What took time itself has its effect from its end on.
        self.acted = self.acted.map(|_| Instant::now());
        if let Err(DeviceError::Stopped { .. }) = outcome {
            self.body.release().await?;
        }
        self.or_anew(outcome).await
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let programs = self.display.programs();
        let acted = self.acted;
        let settled = self
            .body
            .eyes
            .settle(settle, acted, programs.as_deref(), Patience::ForEffects)
            .await;
        self.acted = None;
        self.or_anew(settled.map_err(DeviceError::from)).await
    }

    async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        Ok(PageContext::default())
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        Ok(self.body.release().await?)
    }

    async fn close(self) -> Result<(), DeviceError> {
        let Self {
            mut body,
            display,
            switch,
            ..
        } = self;
        drop(switch);
        // A server that is gone has nothing pressed and no mapping to give back.
        let _best_effort = body.release().await;
        if display.outlives_us() {
            let _best_effort = body.give_back().await;
        }
        drop(body);
        display.close().await
    }
}

impl telechir_device::Windows for Desktop {
    async fn windows(&mut self) -> Result<Vec<Window>, DeviceError> {
        let Body { eyes, windows, .. } = &mut self.body;
        let listed = match windows.list(&eyes.connection).await {
            Ok(listed) => listed,
            // Nobody manages windows here.
            Err(XError::Impossible(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let active = listed.active;
        let all = listed.windows.into_iter().map(|window| Window {
            id: windows.name(window.window),
            place: window.place.bounds(),
            content: window.content().bounds(),
            is_active: active == Some(window.window),
            is_shown: !window.shown.is_minimized,
            title: window.title,
            class: window.class,
        });
        Ok(all.collect())
    }
}
