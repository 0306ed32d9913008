//! A private desktop with applications, and what they say of themselves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use telechir_atspi::{AtSpi, BusSocket};
use telechir_device::{
    Accessibility as _, ActionReport, BoxReader, Computer as _, Detail, DeviceError, Element,
    ScreenAction, Settle, Tree, Viewport, Windows as _, WithAccessibility, choose,
};
use telechir_ocr::Tesseract;
use telechir_process::{Identity, Pid, is_root};
use telechir_protocol::{Action, Named, Target};
use telechir_testkit::gate::{Part, require};
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};
use tempfile::TempDir;

/// How long an application may take to say what it shows, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whom desktops run as here: nobody whom a session takes.
fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_829)).flatten()
}

/// A desktop as a session has it.
pub(crate) struct Stage {
    pub(crate) desktop: WithAccessibility<Desktop, AtSpi>,
    pub(crate) workspace: PathBuf,
    folder: TempDir,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        require(Part::XServer);
        require(Part::Dbus);
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
                .with_reader(BoxReader::new(Tesseract::new(identity()))),
            workspace,
            folder,
        }
    }

    pub(crate) async fn with(program: &str, args: &[&str]) -> Self {
        let mut stage = Self::new().await;
        stage.launch(program, args).await;
        stage
    }

    pub(crate) async fn launch(&mut self, program: &str, args: &[&str]) -> Pid {
        let display = self.desktop.computer().private_display().unwrap();
        display.launch(program, args).await.unwrap()
    }

    pub(crate) async fn tree(&mut self, detail: Detail) -> Tree {
        let windows = self.desktop.computer().windows().await.unwrap();
        let applications = self.desktop.applications();
        applications.tree(detail, &windows).await.unwrap()
    }

    /// Waits until the applications say something that fits.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&Tree) -> bool) -> Tree {
        let began = Instant::now();
        loop {
            let tree = self.tree(Detail::Basic).await;
            if fits(&tree) {
                return tree;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{what} did not come; there is\n{}",
                told(&tree)
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until there is exactly one such element, on the screen.
    pub(crate) async fn element(&mut self, named: &Named) -> Element {
        let there = |tree: &Tree| choose(tree, named).is_ok_and(|at| tree.elements[at].is_shown());
        let tree = self.until(&named.to_string(), there).await;
        let place = choose(&tree, named).unwrap();
        tree.elements[place].clone()
    }

    pub(crate) async fn perform(&mut self, action: Action) -> Result<ActionReport, DeviceError> {
        let viewport = Viewport::unscaled(self.desktop.size());
        let action: ScreenAction = viewport.action(&action).unwrap();
        let done = self.desktop.perform(&action).await;
        // As a session waits.
        let settle = Settle {
            quiet: Duration::from_millis(45),
            ceiling: Duration::from_secs(2),
        };
        self.desktop.settle(settle).await.unwrap();
        done
    }

    /// The processes with this name on this desktop: told by the display's folder, which all of
    /// them know.
    pub(crate) fn processes(&self, name: &str) -> Vec<Pid> {
        let folder = self.folder.path().to_str().unwrap().as_bytes();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let mine = all.filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let said = fs::read_to_string(entry.path().join("comm")).ok()?;
            let knows = fs::read(entry.path().join("environ")).ok()?;
            let ours = knows.windows(folder.len()).any(|part| part == folder);
            (said.trim() == name && ours).then(|| Pid::from_raw(number))?
        });
        mine.collect()
    }

    pub(crate) async fn close(self) {
        self.desktop.close().await.unwrap();
    }
}

pub(crate) fn told(tree: &Tree) -> String {
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

pub(crate) fn named(role: &str, name: &str) -> Named {
    Named {
        name: Some(name.to_owned()),
        role: Some(role.to_owned()),
        ..Named::default()
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
