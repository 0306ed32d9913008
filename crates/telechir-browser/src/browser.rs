//! A browser as a computer: every action finds its way to the tab in front.

use std::sync::Arc;

use serde_json::json;
use telechir_device::{
    BoxScreen, Computer, DeviceError, Frame, PageContext, Performed, Screen as _, ScreenAction, ScreenTarget,
    Settle, Settled,
};
use telechir_protocol::{Action, ActionKind, Size};
use tokio::time::timeout;

use crate::book::{Book, Tab};
use crate::client::{Client, Pump};
use crate::error::refused;
use crate::hands::Hands;
use crate::keyboard::Keyboard;
use crate::launch::{self, Keeper, Launched};
use crate::navigate::{Direction, Navigation};
use crate::options::{Options, Surface};
use crate::page::Page;
use crate::pointer::{Place, Pointer};
use crate::setup::Setup;
use crate::{address, capture, settle};

mod fit;

/// A Chromium with one window or none. It ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    // Dropped first: the process ends before those who listen to it.
    keeper: Keeper,
    pub(crate) client: Client,
    pub(crate) book: Arc<Book>,
    pub(crate) hands: Hands,
    pub(crate) setup: Setup,
    pub(crate) options: Options,
    pub(crate) screen: Option<BoxScreen>,
    size: Size,
    _pump: Pump,
}

impl Browser {
    /// Starts Chromium on this surface and waits until its first page can be acted on.
    ///
    /// # Errors
    /// When Chromium is missing, must not start (as root), does not start, or does not fill the
    /// screen it was given.
    pub async fn launch(surface: Surface, options: Options) -> Result<Self, DeviceError> {
        let Launched { client, book, pump, keeper } = launch::launch(&surface, &options).await?;
        let (size, screen) = match surface {
            Surface::Headless(size) => (size, None),
            Surface::Window(screen) => (screen.size(), Some(screen)),
        };
        let mut browser = Self {
            keeper,
            client,
            book,
            hands: Hands::new(size),
            setup: Setup { size: screen.is_none().then_some(size) },
            options,
            screen,
            size,
            _pump: pump,
        };
        browser.first_page().await?;
        Ok(browser)
    }

    /// Chromium's process, which leads a group of the same number.
    pub fn pid(&self) -> i32 {
        self.keeper.pid().as_raw_nonzero().get()
    }

    /// Whether Chromium is gone, and why. Waits for nothing.
    pub fn is_lost(&self) -> Option<String> {
        self.client.is_lost().map(|lost| lost.to_string())
    }

    /// Returns when Chromium is gone, and says why.
    pub fn lost(&self) -> impl Future<Output = DeviceError> + Send + 'static {
        let client = self.client.clone();
        async move { client.lost().await.into() }
    }

    async fn navigate(&mut self, url: &str, tab: Option<&str>) -> Result<(), DeviceError> {
        let url = address::resolve(url, self.options.addresses)?;
        let (tab, page) = self.tab(tab).await?;
        let gone = self.navigation(&tab, &page).go_to(url.as_str()).await;
        if matches!(gone, Err(DeviceError::Timeout { .. })) {
            self.replace(&tab).await?;
        }
        gone
    }

    /// A tab whose load hangs can hang the next one too: an empty tab takes its place.
    async fn replace(&mut self, tab: &Tab) -> Result<(), DeviceError> {
        self.open_tab().await?;
        let params = json!({ "targetId": tab.target });
        self.client.notify(None, "Target.closeTarget", params);
        Ok(())
    }

    fn navigation<'a>(&'a self, tab: &'a Tab, page: &'a Page) -> Navigation<'a> {
        Navigation { page, book: &self.book, tab, limit: self.options.navigation_limit }
    }

    async fn step(&mut self, direction: Direction, tab: Option<&str>) -> Result<(), DeviceError> {
        let (tab, page) = self.tab(tab).await?;
        self.navigation(&tab, &page).step(direction).await
    }

    async fn reload(&mut self, tab: Option<&str>) -> Result<(), DeviceError> {
        let (tab, page) = self.tab(tab).await?;
        self.navigation(&tab, &page).reload().await
    }

    async fn new_tab(&mut self, url: Option<&str>) -> Result<(), DeviceError> {
        // Looked at first: an address that is refused opens no tab.
        let url = url.map(|url| address::resolve(url, self.options.addresses)).transpose()?;
        self.front().await?;
        self.open_tab().await?;
        match url {
            Some(url) => self.navigate(url.as_str(), None).await,
            None => Ok(()),
        }
    }

    /// The page in front, which must be alive to be acted on.
    async fn living_page(&mut self) -> Result<Page, DeviceError> {
        let (tab, page) = self.front().await?;
        if tab.crashed {
            return Err(refused("The page crashed; reload it or go to another address."));
        }
        Ok(page)
    }

    async fn place(&mut self, page: &Page, target: &ScreenTarget) -> Result<Place, DeviceError> {
        match target {
            ScreenTarget::Point(point) => Ok((point.x(), point.y())),
            ScreenTarget::Element { id, .. } => crate::elements::locate(page, id, self.size).await,
        }
    }

    async fn maybe_place(&mut self, page: &Page, at: Option<&ScreenTarget>) -> Result<Option<Place>, DeviceError> {
        match at {
            Some(target) => self.place(page, target).await.map(Some),
            None => Ok(None),
        }
    }

    fn pointer<'a>(&'a mut self, page: &'a Page) -> Pointer<'a> {
        Pointer { page, hands: &mut self.hands, book: &self.book }
    }

    fn keyboard<'a>(&'a mut self, page: &'a Page) -> Keyboard<'a> {
        Keyboard { page, hands: &mut self.hands }
    }

    async fn pointer_action(&mut self, action: &ScreenAction) -> Result<(), DeviceError> {
        let page = &self.living_page().await?;
        match action {
            Action::Move { at } | Action::Hover { at } => {
                let at = self.place(page, at).await?;
                self.pointer(page).move_to(at).await?;
            }
            Action::Click { at, button, count, modifiers } => {
                let at = self.maybe_place(page, at.as_ref()).await?;
                self.pointer(page).click(at, *button, *count, modifiers).await?;
            }
            Action::MouseDown { at, button } => {
                let at = self.maybe_place(page, at.as_ref()).await?;
                self.pointer(page).down(at, *button).await?;
            }
            Action::MouseUp { at, button } => {
                let at = self.maybe_place(page, at.as_ref()).await?;
                self.pointer(page).up(at, *button).await?;
            }
            Action::Drag { path, button, modifiers, duration } => {
                let mut places = Vec::with_capacity(path.len());
                for target in path {
                    places.push(self.place(page, target).await?);
                }
                self.pointer(page).drag(&places, *button, modifiers, *duration).await?;
            }
            Action::Scroll { at, dx, dy, unit, modifiers } => {
                let at = self.maybe_place(page, at.as_ref()).await?;
                self.pointer(page).scroll(at, (*dx, *dy), *unit, modifiers).await?;
            }
            other => return Err(unsupported(other)),
        }
        Ok(())
    }

    async fn keyboard_action(&mut self, action: &ScreenAction) -> Result<(), DeviceError> {
        let page = &self.living_page().await?;
        match action {
            Action::Type { text, at, clear_first, submit } => {
                if let Some(at) = at {
                    let at = self.place(page, at).await?;
                    let pointer = &mut self.pointer(page);
                    pointer.click(Some(at), Default::default(), Default::default(), &[]).await?;
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

    async fn tab_action(&mut self, action: &ScreenAction) -> Result<(), DeviceError> {
        match action {
            Action::Navigate { url, tab } => self.navigate(url, tab.as_deref()).await,
            Action::Back { tab } => self.step(Direction::Back, tab.as_deref()).await,
            Action::Forward { tab } => self.step(Direction::Forward, tab.as_deref()).await,
            Action::Reload { tab } => self.reload(tab.as_deref()).await,
            Action::Search { query } => {
                let url = address::search(self.options.search.as_deref(), query.as_deref())?;
                self.navigate(&url, None).await
            }
            Action::OpenBrowser { url: Some(url) } => self.navigate(url, None).await,
            Action::OpenBrowser { url: None } => self.front().await.map(|_| ()),
            Action::NewTab { url } => self.new_tab(url.as_deref()).await,
            Action::SwitchTab { tab } => self.tab(Some(tab)).await.map(|_| ()),
            Action::CloseTab { tab } => self.close_tab(tab).await,
            other => Err(unsupported(other)),
        }
    }

    async fn read_action(&mut self, action: &ScreenAction) -> Result<String, DeviceError> {
        match action {
            Action::CursorPosition => Ok(format!("X={},Y={}", self.hands.x, self.hands.y)),
            Action::ListTabs => Ok(list(&self.page_context().await?)),
            other => Err(unsupported(other)),
        }
    }

    /// Does what the action says: what is known of it, without what happened beside it.
    async fn carry_out(&mut self, action: &ScreenAction) -> Result<Performed, DeviceError> {
        match family(action.kind()) {
            Family::Pointer => self.pointer_action(action).await.map(|()| Performed::delivered()),
            Family::Keyboard => self.keyboard_action(action).await.map(|()| Performed::delivered()),
            Family::Tab => self.tab_action(action).await.map(|()| Performed::confirmed()),
            Family::Read => {
                let text = self.read_action(action).await?;
                Ok(Performed { text: Some(text), ..Performed::confirmed() })
            }
            Family::None => Err(unsupported(action)),
        }
    }
}

/// Which part of the browser an action is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Pointer,
    Keyboard,
    Tab,
    Read,
    None,
}

fn family(kind: ActionKind) -> Family {
    use ActionKind as K;
    match kind {
        K::Move | K::Hover | K::Click | K::MouseDown | K::MouseUp | K::Drag | K::Scroll => Family::Pointer,
        K::Type | K::Key | K::HoldKey | K::KeyDown | K::KeyUp => Family::Keyboard,
        K::Navigate
        | K::Back
        | K::Forward
        | K::Reload
        | K::Search
        | K::OpenBrowser
        | K::NewTab
        | K::SwitchTab
        | K::CloseTab => Family::Tab,
        K::CursorPosition | K::ListTabs => Family::Read,
        K::ReadPage | K::PageText | K::Find | K::FormInput | K::ScrollTo | K::Javascript => Family::None,
        K::Screenshot
        | K::Zoom
        | K::Wait
        | K::FileUpload
        | K::ReadConsole
        | K::ReadNetwork
        | K::OpenApp
        | K::LongPress
        | K::Other => Family::None,
    }
}

impl Computer for Browser {
    fn size(&self) -> Size {
        self.size
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        match kind {
            ActionKind::Search => self.options.search.is_some(),
            ActionKind::Javascript => self.options.scripts,
            kind => family(*kind) != Family::None,
        }
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        match &mut self.screen {
            Some(screen) => screen.capture().await,
            None => {
                let page = self.living_page().await?;
                capture::capture(&page).await
            }
        }
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<Performed, DeviceError> {
        let performed = self.carry_out(action).await?;
        Ok(Performed { text: join(performed.text, self.book.take_notes()), ..performed })
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        settle::settle(&self.client, &self.book, self.screen.as_mut(), settle).await
    }

    async fn context(&mut self) -> Result<PageContext, DeviceError> {
        self.page_context().await
    }

    async fn release(&mut self) -> Result<(), DeviceError> {
        let (_, page) = self.front().await?;
        Ok(self.hands.release(&page).await?)
    }

    async fn close(mut self) -> Result<(), DeviceError> {
        let limit = self.options.answer_limit;
        let _its_process_ends_anyway = timeout(limit, self.release()).await;
        self.client.notify(None, "Browser.close", json!({}));
        let ended = self.keeper.end().await;
        let screen_ended = match self.screen.take() {
            Some(screen) => screen.close().await,
            None => Ok(()),
        };
        ended.map_err(|error| DeviceError::Unavailable {
            what: "the end of Chromium",
            message: error.to_string(),
        })?;
        screen_ended
    }
}

fn unsupported(action: &ScreenAction) -> DeviceError {
    DeviceError::Unsupported {
        action: action.kind().to_string(),
        device: "browser",
    }
}

fn join(text: Option<String>, notes: Option<String>) -> Option<String> {
    match (text, notes) {
        (Some(text), Some(notes)) => Some(format!("{text}\n{notes}")),
        (text, notes) => text.or(notes),
    }
}

fn list(context: &PageContext) -> String {
    let line = |tab: &telechir_protocol::TabState| {
        let mark = if tab.active { " (in front)" } else { "" };
        format!("{}{mark}: {} <{}>", tab.tab_id, tab.title, tab.url)
    };
    context.tabs.iter().map(line).collect::<Vec<_>>().join("\n")
}
