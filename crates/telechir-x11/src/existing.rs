//! A display that somebody else started and the user chose.

use std::path::{Path, PathBuf};

use telechir_device::DeviceError;
use telechir_process::{Child, Spawn, Stdio};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _};

use crate::address::Address;
use crate::authority::MagicCookie;
use crate::connection::Connection;
use crate::desktop::Desktop;
use crate::display::Display;
use crate::error::XError;
use crate::layout::Layout;
use crate::press_guard;
use crate::private::{Said, pipe};
use crate::screen::XScreen;

/// An X server that is not ours: it is used and left as it was.
#[derive(Debug)]
pub struct ExistingDisplay {
    name: String,
    address: Address,
    xauthority: Option<PathBuf>,
    /// What programs started here get; none are started without.
    programs: Option<Vec<(String, String)>>,
    applications: Vec<(Child, Said)>,
}

impl ExistingDisplay {
    /// The display called `name`, such as `:0`, opened with the cookie in `xauthority`.
    ///
    /// # Errors
    /// When the name is none, the file cannot be read, or the server does not let us in.
    pub async fn connect(name: &str, xauthority: Option<&Path>) -> Result<Self, DeviceError> {
        let address = Address::parse(name)
            .ok_or_else(|| unavailable(name, "no display has such a name; use one like `:0`"))?;
        let xauthority = xauthority.map(Path::to_owned);
        let display = Self {
            name: name.to_owned(),
            address,
            xauthority,
            programs: None,
            applications: Vec::new(),
        };
        display.open().await?;
        Ok(display)
    }

    /// Lets applications be started here, as the user we are and with these variables: on a
    /// person's display they are as free as the person's own. They end with the desktop.
    #[must_use]
    pub fn starting_programs(mut self, environment: Vec<(String, String)>) -> Self {
        self.programs = Some(environment);
        self
    }

    pub(crate) const fn starts_programs(&self) -> bool {
        self.programs.is_some()
    }

    /// The variables that programs get beside those of the display.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.programs.iter().flatten().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Starts an application.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<&(Child, Said), DeviceError> {
        let Some(programs) = self.programs.clone() else {
            return Err(unavailable(&self.name, "no programs are started on it"));
        };
        self.applications
            .retain(|(child, _)| !matches!(child.try_wait(), Ok(Some(_))));
        let (writing, reading) = pipe()?;
        let spawn = Spawn::new(program)
            .args(args)
            .envs(programs)
            .envs(self.environment())
            // A person's programs may need more rights than ours, such as those of a printer.
            .no_new_privs(false)
            .stderr(Stdio::Fd(writing));
        let child = spawn
            .spawn()
            .await
            .map_err(|error| unavailable(&self.name, &error.to_string()))?;
        self.applications.push((child, Said::from(reading)));
        let last = self.applications.last();
        last.ok_or_else(|| unavailable(&self.name, "an application is gone already"))
    }

    /// A computer on this display.
    ///
    /// # Errors
    /// When the server lacks an extension, or is gone.
    pub async fn into_desktop(self) -> Result<Desktop, DeviceError> {
        Desktop::open(Display::Existing(self)).await
    }

    /// A screen for a browser on this display.
    ///
    /// # Errors
    /// When the server lacks an extension, or is gone.
    pub async fn into_screen(self) -> Result<XScreen, DeviceError> {
        XScreen::open(Display::Existing(self)).await
    }

    /// The address of the accessibility bus of its applications, which their bus writes on the root
    /// window; none where there is none yet.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn accessibility_bus(&self) -> Result<Option<String>, DeviceError> {
        /// Longer than any address.
        const MOST: u32 = 1_024;
        let connection = self.open().await?;
        let x = connection.x();
        let asked = x.intern_atom(true, b"AT_SPI_BUS").map_err(XError::from)?;
        let name = connection.reply(asked).await?.atom;
        if name == x11rb::NONE {
            return Ok(None);
        }
        let (root, any) = (connection.root(), AtomEnum::ANY);
        let asked = x.get_property(false, root, name, any, 0, MOST / 4);
        let said = connection.reply(asked.map_err(XError::from)?).await?;
        let address = String::from_utf8(said.value).ok();
        Ok(address.filter(|address| !address.is_empty()))
    }

    /// The codes of the keys that its layout leaves free, which we lend to characters it lacks:
    /// what [`clean_up`](Self::clean_up) must know.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn free_keys(&self) -> Result<Vec<u8>, DeviceError> {
        let connection = self.open().await?;
        let layout = Layout::read(&connection).await?;
        Ok(layout.spare_codes())
    }

    /// Undoes what a killed process left: releases every key and button that a program holds, and
    /// frees `keys`. What a person holds on a keyboard or mouse of their own stays held.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn clean_up(&self, keys: &[u8]) -> Result<(), DeviceError> {
        let connection = self.open().await?;
        press_guard::release_all(&connection).await?;
        let mut layout = Layout::read(&connection).await?;
        let free = layout.spare_codes();
        let lent: Vec<&u8> = keys.iter().filter(|key| !free.contains(key)).collect();
        if lent.is_empty() {
            return Ok(());
        }
        for code in lent {
            layout.set_row(*code, [0, 0]);
        }
        Ok(layout.write(&connection).await?)
    }

    /// Variables that a program needs to show windows here.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![("DISPLAY".to_owned(), self.name.clone())];
        if let Some(path) = &self.xauthority {
            variables.push(("XAUTHORITY".to_owned(), path.to_string_lossy().into_owned()));
        }
        variables
    }

    pub(crate) async fn open(&self) -> Result<Connection, DeviceError> {
        let cookie = match &self.xauthority {
            Some(path) => MagicCookie::read(path, self.address.number()).map_err(|error| {
                unavailable(&self.name, &format!("{}: {error}", path.display()))
            })?,
            None => None,
        };
        let cookie = cookie.as_ref().map(MagicCookie::as_bytes);
        Connection::open(&self.address, cookie)
            .await
            .map_err(|error| refused(&self.name, &error))
    }
}

/// A server that does not let us in was never there for us, so it is not "gone".
pub(crate) fn refused(name: &str, error: &XError) -> DeviceError {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    unavailable(
        name,
        &format!(
            "{message}; is there such a display, and may you use it? --desktop without a display starts a private one"
        ),
    )
}

fn unavailable(name: &str, message: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: format!("display {name}: {message}"),
    }
}
