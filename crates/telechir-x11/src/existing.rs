//! Connects to an X server that was started by someone else.

use std::path::{Path, PathBuf};

use telechir_device::DeviceError;
use telechir_process::{Child, Spawn, Stdio};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _};

use crate::address::Address;
use crate::connection::Connection;
use crate::error::XError;
use crate::layout::Layout;
use crate::press_guard;
use crate::startup::{display_unavailable, pipe};
use crate::stderr_tail::StderrTail;
use crate::viewer::DisplayAddress;

/// An existing X server. It is used and left unchanged.
#[derive(Debug)]
pub struct ExistingDisplay {
    name: String,
    address: Address,
    xauthority: Option<PathBuf>,
    /// Environment of programs started here; absent if starting programs is disabled.
    programs: Option<Vec<(String, String)>>,
    applications: Vec<(Child, StderrTail)>,
}

impl ExistingDisplay {
    /// Connects to the display `name`, such as `:0`, with the cookie from `xauthority`.
    ///
    /// # Errors
    /// When the name is invalid, the file cannot be read, or the server refuses the connection.
    pub async fn connect(name: &str, xauthority: Option<&Path>) -> Result<Self, DeviceError> {
        let address = Address::parse(name).ok_or_else(|| {
            display_unavailable(name, "invalid display name; expected a name like `:0`")
        })?;
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

    /// Enables starting applications, as the current user and with these variables. They are not
    /// confined and are stopped with the desktop.
    #[must_use]
    pub fn starting_programs(mut self, environment: Vec<(String, String)>) -> Self {
        self.programs = Some(environment);
        self
    }

    pub(crate) const fn starts_programs(&self) -> bool {
        self.programs.is_some()
    }

    /// A variable of the environment for programs started here.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.programs.iter().flatten().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Starts an application and captures its standard error.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<&(Child, StderrTail), DeviceError> {
        let Some(programs) = self.programs.clone() else {
            return Err(display_unavailable(
                &self.name,
                "starting programs is disabled",
            ));
        };
        self.applications
            .retain(|(child, _)| !matches!(child.try_wait(), Ok(Some(_))));
        let (write_end, read_end) = pipe()?;
        let spawn = Spawn::new(program)
            .args(args)
            .envs(programs)
            .envs(self.environment())
            // Programs of the user may need setuid helpers, for example for printing.
            .no_new_privs(false)
            .stderr(Stdio::Fd(write_end));
        let child = spawn
            .spawn()
            .await
            .map_err(|error| display_unavailable(&self.name, &error.to_string()))?;
        self.applications.push((child, StderrTail::from(read_end)));
        let last = self.applications.last();
        last.ok_or_else(|| display_unavailable(&self.name, "the application exited immediately"))
    }

    /// Address of the accessibility bus of the display's applications, from the `AT_SPI_BUS`
    /// property of the root window; `None` if the property is not set.
    ///
    /// # Errors
    /// When the server does not reply.
    pub async fn accessibility_bus(&self) -> Result<Option<String>, DeviceError> {
        /// Longer than any D-Bus address.
        const MAX_ADDRESS_BYTES: u32 = 1_024;
        let connection = self.open().await?;
        let x = connection.x();
        let request = x.intern_atom(true, b"AT_SPI_BUS").map_err(XError::from)?;
        let name = connection.reply(request).await?.atom;
        if name == x11rb::NONE {
            return Ok(None);
        }
        let (root, any) = (connection.root(), AtomEnum::ANY);
        let request = x.get_property(false, root, name, any, 0, MAX_ADDRESS_BYTES / 4);
        let property = connection.reply(request.map_err(XError::from)?).await?;
        let address = String::from_utf8(property.value).ok();
        Ok(address.filter(|address| !address.is_empty()))
    }

    /// Unused keycodes of the keyboard layout, which typing may assign to missing characters. Pass
    /// them to [`clean_up`](Self::clean_up) after a crash.
    ///
    /// # Errors
    /// When the server does not reply.
    pub async fn free_keys(&self) -> Result<Vec<u8>, DeviceError> {
        let connection = self.open().await?;
        let layout = Layout::read(&connection).await?;
        Ok(layout.spare_codes())
    }

    /// Cleans up after a killed process: releases all synthetic key and button presses and
    /// unassigns `keys`. Keys that the user presses on a physical keyboard stay pressed.
    ///
    /// # Errors
    /// When the server does not reply.
    pub async fn clean_up(&self, keys: &[u8]) -> Result<(), DeviceError> {
        let connection = self.open().await?;
        press_guard::release_all(&connection).await?;
        let mut layout = Layout::read(&connection).await?;
        let free = layout.spare_codes();
        let allocated: Vec<&u8> = keys.iter().filter(|key| !free.contains(key)).collect();
        if allocated.is_empty() {
            return Ok(());
        }
        for code in allocated {
            layout.set_row(*code, [0, 0]);
        }
        Ok(layout.write(&connection).await?)
    }

    /// Environment variables for programs that open windows on this display.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![("DISPLAY".to_owned(), self.name.clone())];
        if let Some(path) = &self.xauthority {
            variables.push(("XAUTHORITY".to_owned(), path.to_string_lossy().into_owned()));
        }
        variables
    }

    pub(crate) async fn open(&self) -> Result<Connection, DeviceError> {
        self.address().connect().await
    }

    /// How to connect to the display.
    pub(crate) fn address(&self) -> DisplayAddress {
        DisplayAddress::Existing {
            name: self.name.clone(),
            address: self.address.clone(),
            xauthority: self.xauthority.clone(),
        }
    }
}
