//! A private desktop with applications and their accessibility trees.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use telechir_atspi::{AtSpi, BusSocket};
use telechir_device::{
    Accessibility as _, ActionReport, Computer as _, Detail, DeviceError, Element, ElementTree,
    ScreenAction, Settle, Viewport, WindowSystem as _, WithAccessibility, choose,
};
use telechir_ocr::Tesseract;
use telechir_process::{Identity, Pid, is_root};
use telechir_protocol::{Action, NamedElement, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, require};
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};
use tempfile::TempDir;

/// The user for desktops, which no session uses.
fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_829)).flatten()
}

/// A desktop with accessibility and text recognition, as sessions use it.
pub(crate) struct DesktopFixture {
    pub(crate) desktop: WithAccessibility<Desktop, AtSpi>,
    pub(crate) workspace: PathBuf,
    folder: TempDir,
}

impl DesktopFixture {
    pub(crate) async fn new() -> Self {
        require(Component::XServer);
        require(Component::Dbus);
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(identity) = identity() {
            let (uid, gid) = (Some(identity.uid), Some(identity.gid));
            for path in [folder.path(), &workspace] {
                std::os::unix::fs::chown(path, uid, gid).unwrap();
            }
        }
        let options = DisplayOptions {
            accessibility: true,
            workspace: Some(workspace.clone()),
            ..DisplayOptions::new(folder.path(), identity())
        };
        let display = PrivateDisplay::start(options).await.unwrap();
        let socket = display.session_bus().unwrap();
        let applications = AtSpi::new(BusSocket::new(socket, identity()));
        let desktop = display.into_desktop().await.unwrap();
        Self {
            desktop: WithAccessibility::new(desktop, applications)
                .with_text_recognizer(Box::new(Tesseract::new(identity()))),
            workspace,
            folder,
        }
    }

    pub(crate) async fn with(program: &str, args: &[&str]) -> Self {
        let mut fixture = Self::new().await;
        fixture.launch(program, args).await;
        fixture
    }

    pub(crate) async fn launch(&mut self, program: &str, args: &[&str]) -> Pid {
        let display = self.desktop.computer().private_display().unwrap();
        display.launch(program, args).await.unwrap()
    }

    pub(crate) async fn tree(&mut self, detail: Detail) -> ElementTree {
        let windows = self.desktop.computer().windows().await.unwrap();
        let applications = self.desktop.applications();
        applications.tree(detail, &windows).await.unwrap()
    }

    /// Waits until the tree matches.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        fits: impl Fn(&ElementTree) -> bool,
    ) -> ElementTree {
        let tree = assert_eventually!(
            OutlinedTree(self.tree(Detail::Basic).await),
            |tree| fits(&tree.0),
            "{what}"
        );
        tree.0
    }

    /// Waits until exactly one element matches and is visible.
    pub(crate) async fn element(&mut self, named: &NamedElement) -> Element {
        let there =
            |tree: &ElementTree| choose(tree, named).is_ok_and(|at| tree.elements[at].is_shown());
        let tree = self.until(&named.to_string(), there).await;
        let index = choose(&tree, named).unwrap();
        tree.elements[index].clone()
    }

    pub(crate) async fn perform(&mut self, action: Action) -> Result<ActionReport, DeviceError> {
        let viewport = Viewport::unscaled(self.desktop.size());
        let action: ScreenAction = viewport.action(&action).unwrap();
        let done = self.desktop.perform(&action).await;
        // The values of a session.
        let settle = Settle {
            quiet: Duration::from_millis(45),
            ceiling: Duration::from_secs(2),
        };
        self.desktop.settle(settle).await.unwrap();
        done
    }

    /// The processes with this name on this desktop, recognized by the display folder in their
    /// environment.
    pub(crate) fn processes(&self, name: &str) -> Vec<Pid> {
        let folder = self.folder.path().to_str().unwrap().as_bytes();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let mine = all.filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("comm")).ok()?;
            let knows = fs::read(entry.path().join("environ")).ok()?;
            let is_on_display = knows.windows(folder.len()).any(|part| part == folder);
            (text.trim() == name && is_on_display).then(|| Pid::from_raw(number))?
        });
        mine.collect()
    }

    pub(crate) async fn close(self) {
        self.desktop.close().await.unwrap();
    }
}

/// A tree that is shown as its outline.
struct OutlinedTree(ElementTree);

impl fmt::Debug for OutlinedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&outline(&self.0))
    }
}

pub(crate) fn outline(tree: &ElementTree) -> String {
    let lines = tree.elements.iter().map(|element| {
        let bounds = element.bounds.map(|b| (b.x, b.y, b.width, b.height));
        format!(
            "{}{} {bounds:?}",
            "  ".repeat(element.depth),
            element.line()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn named(role: &str, name: &str) -> NamedElement {
    NamedElement {
        name: Some(name.to_owned()),
        role: Some(role.to_owned()),
        ..NamedElement::default()
    }
}

pub(crate) fn click(at: Target) -> Action {
    Action::Click {
        at: Some(at),
        button: telechir_protocol::Button::Left,
        count: telechir_protocol::ClickCount::Single,
        modifiers: Vec::new(),
    }
}

pub(crate) fn invoke(at: Target, name: Option<&str>) -> Action {
    Action::Invoke {
        at,
        name: name.map(str::to_owned),
    }
}

pub(crate) fn set(at: Target, value: impl Into<serde_json::Value>) -> Action {
    Action::FormInput {
        at,
        value: value.into(),
        tab: None,
    }
}
