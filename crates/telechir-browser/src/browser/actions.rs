//! Dispatches each kind of action to the part of the browser that performs it.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "`handler_for` matches every kind without a wildcard; each handler gets only its own"
)]

use serde_json::json;
use telechir_device::{ActionReport, DeviceError, PageContext, ScreenAction, ScreenTarget};
use telechir_protocol::{Action, ActionKind, TabState};

use super::Browser;
use super::wait::WaitCondition;
use crate::cdp_session::CdpSession;
use crate::error::refused;
use crate::keyboard::PageKeyboard;
use crate::launch::Chromium;
use crate::navigate::{Direction, Navigation};
use crate::pointer::{PagePointer, Pixel, PointerMoves};
use crate::tab_registry::Tab;
use crate::{address, script};

impl Browser {
    async fn navigate(&mut self, url: &str, tab: Option<&str>) -> Navigated {
        let url = address::resolve(url, self.options.allowed_urls)?;
        if let Some(egress) = &self.options.egress {
            // Every URL here was permitted, by a rule or by the user.
            egress.grant(url.as_str());
        }
        self.load(url.as_str(), tab).await
    }

    async fn load(&mut self, url: &str, tab: Option<&str>) -> Navigated {
        let (tab, page) = self.tab(tab).await?;
        let gone = self.navigation(&tab, &page).go_to(url).await;
        let is_late = matches!(gone, Err(DeviceError::Timeout { .. }));
        if is_late && self.registry.has_owner() {
            page.notify("Page.stopLoading", json!({}));
        } else if is_late {
            let empty = self.replace(&tab).await?;
            self.registry.note(format!(
                "{} was closed; {}, which is empty, is active now.",
                tab.name, empty.name
            ));
        }
        gone
    }

    /// A tab with a hanging load can block the next load, too: replaces it by an empty one. A tab of
    /// somebody else stays open.
    pub(super) async fn replace(&mut self, tab: &Tab) -> Result<Tab, DeviceError> {
        let empty = self.open_tab().await?;
        if !self.registry.has_owner() {
            let params = json!({ "targetId": tab.target });
            self.client.notify(None, "Target.closeTarget", params);
        }
        Ok(empty)
    }

    fn navigation<'a>(&'a self, tab: &'a Tab, page: &'a CdpSession) -> Navigation<'a> {
        Navigation {
            page,
            registry: &self.registry,
            tab,
            limit: self.options.navigation_timeout,
            egress: self.options.egress.as_ref(),
            keeps_files: self
                .file_transfer
                .as_ref()
                .is_some_and(|file_transfer| file_transfer.saves_downloads()),
        }
    }

    async fn step(&mut self, direction: Direction, tab: Option<&str>) -> Navigated {
        let (tab, page) = self.tab(tab).await?;
        self.navigation(&tab, &page).step(direction).await
    }

    async fn reload(&mut self, tab: Option<&str>) -> Navigated {
        let (tab, page) = self.tab(tab).await?;
        self.navigation(&tab, &page).reload().await
    }

    async fn new_tab(&mut self, url: Option<&str>) -> Navigated {
        // Resolved first: a refused URL opens no tab.
        let url = url
            .map(|url| address::resolve(url, self.options.allowed_urls))
            .transpose()?;
        self.front().await?;
        self.open_tab().await?;
        match url {
            Some(url) => self.navigate(url.as_str(), None).await,
            None => Ok(None),
        }
    }

    /// The active page, which must not have crashed.
    pub(super) async fn live_page(&mut self) -> Result<CdpSession, DeviceError> {
        self.live_tab(None).await.map(|(_, page)| page)
    }

    pub(super) async fn live_tab(
        &mut self,
        name: Option<&str>,
    ) -> Result<(Tab, CdpSession), DeviceError> {
        let (tab, page) = self.tab(name).await?;
        if tab.crashed {
            return Err(refused(
                "The page crashed; reload it or navigate to another address.",
            ));
        }
        self.check_dialog(&tab.session)?;
        self.measure_page_scale(&page).await?;
        Ok((tab, page))
    }

    async fn pixel_of(&mut self, target: &ScreenTarget) -> Result<Pixel, DeviceError> {
        match target {
            ScreenTarget::Point(point) => Ok((point.x(), point.y())),
            ScreenTarget::Element { id, .. } => self.click_pixel(id).await,
            ScreenTarget::Named(_) => Err(needs_ref()),
        }
    }

    async fn optional_pixel(
        &mut self,
        at: Option<&ScreenTarget>,
    ) -> Result<Option<Pixel>, DeviceError> {
        match at {
            Some(target) => self.pixel_of(target).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn pointer<'a>(&'a mut self, page: &'a CdpSession) -> PagePointer<'a> {
        let moves = match &self.chromium {
            Chromium::Attached { .. } => PointerMoves::SentWithClicks,
            Chromium::Started { .. } | Chromium::Shared => PointerMoves::Awaited,
        };
        PagePointer {
            moves,
            page,
            input: &mut self.input,
            registry: &self.registry,
        }
    }

    fn keyboard<'a>(&'a mut self, page: &'a CdpSession) -> PageKeyboard<'a> {
        PageKeyboard {
            page,
            input: &mut self.input,
        }
    }

    async fn pointer_action(&mut self, action: &ScreenAction) -> Result<(), DeviceError> {
        let page = &self.live_page().await?;
        match action {
            Action::Move { at } | Action::Hover { at } => {
                let at = self.pixel_of(at).await?;
                self.pointer(page).move_to(at).await?;
            }
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let at = self.optional_pixel(at.as_ref()).await?;
                self.pointer(page)
                    .click(at, *button, *count, modifiers)
                    .await?;
            }
            Action::MouseDown { at, button } => {
                let at = self.optional_pixel(at.as_ref()).await?;
                self.pointer(page).down(at, *button).await?;
            }
            Action::MouseUp { at, button } => {
                let at = self.optional_pixel(at.as_ref()).await?;
                self.pointer(page).up(at, *button).await?;
            }
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => {
                let mut points = Vec::with_capacity(path.len());
                for target in path {
                    points.push(self.pixel_of(target).await?);
                }
                self.pointer(page)
                    .drag(&points, *button, modifiers, *duration)
                    .await?;
            }
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                let at = self.optional_pixel(at.as_ref()).await?;
                self.pointer(page)
                    .scroll(at, (*dx, *dy), *unit, modifiers)
                    .await?;
            }
            other => return Err(unsupported(other)),
        }
        Ok(())
    }

    async fn keyboard_action(&mut self, action: &ScreenAction) -> Result<(), DeviceError> {
        let page = &self.live_page().await?;
        match action {
            Action::Type {
                text,
                at,
                clear_first,
                submit,
            } => {
                if let Some(at) = at {
                    let at = self.pixel_of(at).await?;
                    let pointer = &mut self.pointer(page);
                    pointer
                        .click(Some(at), Default::default(), Default::default(), &[])
                        .await?;
                }
                let mut keyboard = self.keyboard(page);
                if *clear_first {
                    keyboard.clear().await?;
                }
                keyboard.write(text).await?;
                if *submit {
                    keyboard.write("\n").await?;
                }
                Ok(())
            }
            Action::Key { chord, repeat } => self.keyboard(page).press(chord, *repeat).await,
            Action::HoldKey { chord, duration } => self.keyboard(page).hold(chord, *duration).await,
            Action::KeyDown { chord } => self.keyboard(page).down(chord).await,
            Action::KeyUp { chord } => self.keyboard(page).up(chord).await,
            other => Err(unsupported(other)),
        }
    }

    async fn tab_action(&mut self, action: &ScreenAction) -> Navigated {
        match action {
            Action::Navigate { url, tab } => self.navigate(url, tab.as_deref()).await,
            Action::Back { tab } => self.step(Direction::Back, tab.as_deref()).await,
            Action::Forward { tab } => self.step(Direction::Forward, tab.as_deref()).await,
            Action::Reload { tab } => self.reload(tab.as_deref()).await,
            Action::Search { query } => {
                let url = address::search(self.options.search.as_deref(), query.as_deref())?;
                let url = address::resolve(&url, self.options.allowed_urls)?;
                // This URL was not judged by the policy; the egress proxy does.
                self.load(url.as_str(), None).await
            }
            Action::OpenBrowser { url: Some(url) } => self.navigate(url, None).await,
            Action::OpenBrowser { url: None } => self.front().await.map(|_| None),
            Action::NewTab { url } => self.new_tab(url.as_deref()).await,
            Action::SwitchTab { tab } => self.tab(Some(tab)).await.map(|_| None),
            Action::CloseTab { tab } => self.close_tab(tab).await.map(|()| None),
            other => Err(unsupported(other)),
        }
    }

    async fn read_action(&mut self, action: &ScreenAction) -> Result<String, DeviceError> {
        match action {
            Action::CursorPosition => Ok(format!("X={},Y={}", self.input.x, self.input.y)),
            Action::ListTabs => Ok(list(&self.page_context().await?)),
            Action::ReadPage {
                filter,
                depth,
                root,
                tab,
            } => {
                let root = root.as_ref().map(element_of).transpose()?;
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.read_page(&tab, filter.as_deref(), *depth, root).await
            }
            Action::PageText { tab } => {
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.page_text(&tab).await
            }
            Action::Find { query, tab } => {
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.find(&tab, query).await
            }
            Action::FormInput { at, value, tab } => {
                let id = element_of(at)?;
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.set_value(&tab, id, value).await
            }
            Action::ScrollTo { at, tab } => {
                let id = element_of(at)?;
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.scroll_to(&tab, id).await?;
                Ok(format!("{id} is in view."))
            }
            Action::FileUpload {
                at,
                paths,
                documents,
                tab,
            } => {
                let id = element_of(at)?;
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.upload(&tab, id, paths, documents).await
            }
            Action::WaitFor {
                text,
                at,
                gone,
                url,
                idle,
                duration,
                tab,
            } => {
                let condition = WaitCondition {
                    text: text.as_deref(),
                    id: at.as_ref().map(element_of).transpose()?,
                    is_gone: *gone,
                    url: url.as_deref(),
                    is_idle: *idle,
                };
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.wait_for(&tab, &condition, *duration).await
            }
            Action::ReadConsole { tab } => {
                let (tab, _) = self.live_tab(tab.as_deref()).await?;
                self.console(&tab).await
            }
            Action::ReadNetwork { tab } => {
                let (tab, _) = self.tab(tab.as_deref()).await?;
                Ok(self.registry.request_log(&tab.session))
            }
            Action::ReadRequest { request, tab } => {
                let (tab, _) = self.tab(tab.as_deref()).await?;
                self.request(&tab, *request).await
            }
            Action::Emulate { settings } => self.emulate(settings).await,
            Action::ListCookies { url } => self.list_cookies(url.as_deref()).await,
            Action::SetCookies { cookies } => self.set_cookies(cookies).await,
            Action::ClearCookies { url } => self.clear_cookies(url.as_deref()).await,
            Action::SaveStorageState { path } => self.save_state(path.as_deref()).await,
            Action::LoadStorageState { path } => self.load_state_file(path).await,
            Action::SavePdf { path, tab } => {
                let (_, page) = self.live_tab(tab.as_deref()).await?;
                self.save_pdf(&page, path.as_deref()).await
            }
            Action::Javascript { script, tab } if self.options.allows_scripts => {
                let (_, page) = self.live_tab(tab.as_deref()).await?;
                script::run(&page, script).await
            }
            other => Err(unsupported(other)),
        }
    }

    /// A pointer action of which nothing is observed.
    async fn plain_pointer_action(
        &mut self,
        action: &ScreenAction,
    ) -> Result<ActionReport, DeviceError> {
        self.pointer_action(action).await?;
        Ok(ActionReport::delivered())
    }

    /// Performs an action; the report does not include events.
    pub(super) async fn dispatch_action(
        &mut self,
        action: &ScreenAction,
    ) -> Result<ActionReport, DeviceError> {
        let with_refs = self.with_refs(action).await?;
        let action = with_refs.as_ref().unwrap_or(action);
        match handler_for(action.kind()) {
            ActionHandler::Pointer => match action {
                Action::Click {
                    at: Some(ScreenTarget::Element { id, .. }),
                    button,
                    count,
                    modifiers,
                } => self.click_on(id, *button, *count, modifiers).await,
                Action::Scroll {
                    at: Some(ScreenTarget::Element { id, .. }),
                    dx,
                    dy,
                    unit,
                    modifiers,
                } => self.scroll_in(id, (*dx, *dy), *unit, modifiers).await,
                Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
                } => match path.as_slice() {
                    [
                        ScreenTarget::Element { id: from, .. },
                        ScreenTarget::Element { id: to, .. },
                    ] => {
                        self.drag_to((from, to), *button, modifiers, *duration)
                            .await
                    }
                    _ => self.plain_pointer_action(action).await,
                },
                _ => self.plain_pointer_action(action).await,
            },
            ActionHandler::Keyboard => self
                .keyboard_action(action)
                .await
                .map(|()| ActionReport::delivered()),
            ActionHandler::Tab => {
                let text = self.tab_action(action).await?;
                Ok(ActionReport {
                    text,
                    ..ActionReport::confirmed()
                })
            }
            ActionHandler::Read => {
                let text = self.read_action(action).await?;
                Ok(ActionReport {
                    text: Some(text),
                    ..ActionReport::confirmed()
                })
            }
            ActionHandler::None => Err(unsupported(action)),
        }
    }
}

/// What is to be said about a page that was loaded, or why none was.
type Navigated = Result<Option<String>, DeviceError>;

/// The part of the browser that performs an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionHandler {
    Pointer,
    Keyboard,
    Tab,
    Read,
    None,
}

/// Maps each kind of action to its handler.
pub(super) fn handler_for(kind: ActionKind) -> ActionHandler {
    use ActionKind as K;
    match kind {
        K::Move | K::Hover | K::Click | K::MouseDown | K::MouseUp | K::Drag | K::Scroll => {
            ActionHandler::Pointer
        }
        K::Type | K::Key | K::HoldKey | K::KeyDown | K::KeyUp => ActionHandler::Keyboard,
        K::Navigate
        | K::Back
        | K::Forward
        | K::Reload
        | K::Search
        | K::OpenBrowser
        | K::NewTab
        | K::SwitchTab
        | K::CloseTab => ActionHandler::Tab,
        K::CursorPosition
        | K::ListTabs
        | K::ReadPage
        | K::PageText
        | K::Find
        | K::FormInput
        | K::ScrollTo
        | K::FileUpload
        | K::ReadConsole
        | K::ReadNetwork
        | K::ReadRequest
        | K::AnswerDialog
        | K::Emulate
        | K::ListCookies
        | K::SetCookies
        | K::ClearCookies
        | K::SaveStorageState
        | K::LoadStorageState
        | K::SavePdf
        // The runtime captures the element that it has located.
        | K::CaptureElement
        | K::Javascript
        | K::WaitFor => ActionHandler::Read,
        K::Screenshot
        | K::ObserveScreen
        | K::Zoom
        | K::Wait
        | K::ListWindows
        | K::FocusWindow
        | K::MaximizeWindow
        | K::RestoreWindow
        | K::MinimizeWindow
        | K::CloseWindow
        | K::PlaceWindow
        | K::CaptureWindow
        | K::ListMonitors
        | K::CaptureMonitor
        | K::ReadClipboard
        | K::WriteClipboard
        | K::Invoke
        | K::OpenApp
        | K::LongPress
        | K::Other => ActionHandler::None,
    }
}

pub(super) fn element_of(target: &ScreenTarget) -> Result<&str, DeviceError> {
    match target {
        ScreenTarget::Element { id, .. } => Ok(id),
        ScreenTarget::Named(_) => Err(needs_ref()),
        ScreenTarget::Point(_) => Err(refused(
            "This action needs the ref of an element, not a point; read the page to get refs.",
        )),
    }
}

fn needs_ref() -> DeviceError {
    refused(
        "This action needs the ref of an element, not its name; search or read the page to get refs.",
    )
}

fn unsupported(action: &ScreenAction) -> DeviceError {
    DeviceError::Unsupported {
        action: action.kind().to_string(),
        device: "browser",
    }
}

fn list(context: &PageContext) -> String {
    let line = |tab: &TabState| {
        let mark = if tab.active { " (in front)" } else { "" };
        format!("{}{mark}: {} <{}>", tab.tab_id, tab.title, tab.url)
    };
    context.tabs.iter().map(line).collect::<Vec<_>>().join("\n")
}
