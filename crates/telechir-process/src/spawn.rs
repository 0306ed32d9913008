//! The description of a program to start: everything is listed here, nothing is inherited.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit};

use crate::cgroup::CgroupHandle;
use crate::guardian::{self, SessionLink};
use crate::program::{find_program, package_of};
use crate::spawner::start;
use crate::sys::exec::{Leader, Plan};
use crate::{Cgroup, Child, Identity, SpawnError, SpawnStep, is_root};

/// Target of a standard stream.
#[derive(Debug, Default)]
pub enum Stdio {
    /// Connected to `/dev/null`: input ends at once, output is discarded.
    #[default]
    Null,
    /// Connected to this descriptor.
    Fd(OwnedFd),
    /// Connected to a pipe whose other end is in [`Child`].
    Piped,
}

/// A program to start.
///
/// By default its environment is empty, its standard streams are `/dev/null`, it has no other
/// descriptors, and it leads its own process group. It is killed when our process ends, however
/// that happens.
#[derive(Debug)]
pub struct Spawn {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdio: [Stdio; 3],
    fds: Vec<(RawFd, OwnedFd)>,
    identity: Option<Identity>,
    no_new_privs: bool,
    leader: Leader,
    limits: Vec<(Resource, Rlimit)>,
    umask: Option<u32>,
    landlock: Option<OwnedFd>,
    cgroups: Vec<CgroupHandle>,
    is_first_victim: bool,
    is_detached: bool,
    is_graceful: bool,
    is_after_graceful: bool,
}

impl Spawn {
    /// Describes `program`: a path, or a name that is searched in the system's folders.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            stdio: [Stdio::Null, Stdio::Null, Stdio::Null],
            fds: Vec::new(),
            identity: None,
            no_new_privs: true,
            leader: Leader::Group,
            limits: Vec::new(),
            umask: None,
            landlock: None,
            cgroups: Vec::new(),
            is_first_victim: false,
            is_detached: false,
            is_graceful: false,
            is_after_graceful: false,
        }
    }

    /// Adds one command-line argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several command-line arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable; a later value replaces an earlier one.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        self.env.retain(|(old, _)| old != name);
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets several environment variables.
    #[must_use]
    pub fn envs(
        mut self,
        vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> Self {
        for (name, value) in vars {
            self = self.env(name, value);
        }
        self
    }

    /// Sets the working directory, which is entered as the child's user; the default is ours.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the user; the child has no other groups and no capabilities. `None` keeps our own user.
    #[must_use]
    pub const fn identity(mut self, identity: Option<Identity>) -> Self {
        self.identity = identity;
        self
    }

    /// Sets `no_new_privs`, which disables setuid programs; on by default.
    #[must_use]
    pub const fn no_new_privs(mut self, on: bool) -> Self {
        self.no_new_privs = on;
        self
    }

    /// Sets its standard input.
    #[must_use]
    pub fn stdin(mut self, stdio: Stdio) -> Self {
        self.stdio[0] = stdio;
        self
    }

    /// Sets its standard output.
    #[must_use]
    pub fn stdout(mut self, stdio: Stdio) -> Self {
        self.stdio[1] = stdio;
        self
    }

    /// Sets its standard error.
    #[must_use]
    pub fn stderr(mut self, stdio: Stdio) -> Self {
        self.stdio[2] = stdio;
        self
    }

    /// Passes a descriptor as `number`, above 2; a later one replaces an earlier one.
    #[must_use]
    pub fn fd(mut self, number: RawFd, fd: OwnedFd) -> Self {
        self.fds.retain(|(old, _)| *old != number);
        self.fds.push((number, fd));
        self
    }

    /// Makes it the leader of its own session, without a controlling terminal.
    #[must_use]
    pub const fn new_session(mut self) -> Self {
        self.leader = Leader::Session;
        self
    }

    /// Makes it the leader of its own session, with its standard input as controlling terminal.
    #[must_use]
    pub const fn controlling_terminal(mut self) -> Self {
        self.leader = Leader::Terminal;
        self
    }

    /// Sets the soft and hard limit of a resource.
    #[must_use]
    pub fn limit(mut self, resource: Resource, limit: u64) -> Self {
        self.limits.push((
            resource,
            Rlimit {
                current: Some(limit),
                maximum: Some(limit),
            },
        ));
        self
    }

    /// Sets the file mode creation mask, such as `0o077`.
    #[must_use]
    pub const fn umask(mut self, mask: u32) -> Self {
        self.umask = Some(mask);
        self
    }

    /// Applies a Landlock ruleset to it and its descendants. Needs `no_new_privs`, which is the
    /// default.
    #[must_use]
    pub(crate) fn landlock(mut self, ruleset: Option<OwnedFd>) -> Self {
        self.landlock = ruleset;
        self
    }

    /// Starts it in a cgroup, together with its descendants. [`Cgroup`] checks afterwards whether
    /// it joined.
    #[must_use]
    pub fn cgroup(mut self, group: &Cgroup) -> Self {
        self.cgroups = group.handles();
        self
    }

    /// Makes it and its descendants the first victims of the OOM killer. Started by root, it cannot
    /// undo this.
    #[must_use]
    pub(crate) const fn first_victim(mut self) -> Self {
        self.is_first_victim = true;
        self
    }

    /// Lets it outlive our process and its [`Child`]: it leads its own session, gets no death signal,
    /// and continues when the [`Child`] is dropped, or this start is cancelled. It must end by its own
    /// protocol.
    #[must_use]
    pub const fn detached(mut self) -> Self {
        self.leader = Leader::Session;
        self.is_detached = true;
        self
    }

    /// Gives it a grace period when our process ends, for programs that save data when they see the
    /// end of a pipe. It gets no death signal; the guardian kills it after three seconds.
    #[must_use]
    pub const fn graceful(mut self) -> Self {
        self.is_graceful = true;
        self
    }

    /// Keeps it running for graceful programs that depend on it when our process ends. It gets no
    /// death signal; the guardian kills it after them.
    #[must_use]
    pub const fn after_graceful(mut self, on: bool) -> Self {
        self.is_after_graceful = on;
        self
    }

    /// Whether it may run on for a while when our process ends.
    pub(crate) const fn outlives_us(&self) -> bool {
        self.is_graceful || self.is_after_graceful || self.is_detached
    }

    /// Starts it by another program, whose last arguments are this one and its own.
    #[must_use]
    pub(crate) fn started_by(mut self, other: &str, mut args: Vec<OsString>) -> Self {
        let inner = std::mem::replace(&mut self.program, other.into());
        args.push(inner.into_os_string());
        args.append(&mut self.args);
        self.args = args;
        self
    }

    /// Starts the program; returns once it is running.
    ///
    /// # Errors
    /// If the program is not found or a step fails; no process is left then.
    pub async fn spawn(self) -> Result<Child, SpawnError> {
        let is_graceful = self.is_graceful;
        let (plan, pipes) = self.prepare()?;
        let child = start(plan).await?;
        if is_graceful {
            guardian::ends_gracefully(child.pid());
        }
        Ok(child.with_pipes(pipes))
    }

    pub(crate) fn prepare(self) -> Result<(Plan, [Option<OwnedFd>; 3]), SpawnError> {
        let name = self.program.display().to_string();
        if let Some(identity) = self.identity
            && !is_root()
            && identity != Identity::current()
        {
            return Err(SpawnError::NotRoot {
                program: name,
                uid: identity.uid,
            });
        }
        let path = find_program(&self.program).ok_or_else(|| SpawnError::NotFound {
            package: package_of(&name),
            program: name.clone(),
        })?;
        if let Some(cwd) = self.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            return Err(SpawnError::NoFolder {
                program: name,
                cwd: cwd.clone(),
            });
        }
        let zero_byte = |what| SpawnError::ZeroByte {
            program: name.clone(),
            what,
        };
        let c_string =
            |c_string: &OsStr, what| CString::new(c_string.as_bytes()).map_err(|_| zero_byte(what));
        let mut argv = vec![c_string(self.program.as_os_str(), "the program")?];
        for arg in &self.args {
            argv.push(c_string(arg, "an argument")?);
        }
        let session = guardian::current().filter(|_| !self.is_detached);
        let marker = session.as_ref().map(SessionLink::marker);
        let marker = marker.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut env = Vec::new();
        for (variable, value) in self.env.iter().chain(&marker) {
            let mut pair = variable.clone();
            pair.push("=");
            pair.push(value);
            env.push(c_string(&pair, "a variable")?);
        }
        let (stdio, pipes) = open(self.stdio).map_err(|source| SpawnError::System {
            program: name.clone(),
            step: SpawnStep::Descriptors,
            source,
        })?;
        let fds = (0..).zip(stdio).chain(self.fds).collect();
        let plan = Plan {
            path: c_string(path.as_os_str(), "the program")?,
            argv,
            env,
            cwd: self
                .cwd
                .as_ref()
                .map(|cwd| c_string(cwd.as_os_str(), "the folder"))
                .transpose()?,
            fds,
            identity: self.identity.filter(|_| is_root()),
            no_new_privs: self.no_new_privs,
            leader: self.leader,
            limits: self.limits,
            umask: self.umask,
            landlock: self.landlock,
            cgroups: self.cgroups,
            is_first_victim: self.is_first_victim,
            is_detached: self.is_detached,
            has_no_death_signal: self.is_graceful || self.is_after_graceful,
            guardian: session.as_ref().map(SessionLink::link),
            name,
        };
        Ok((plan, pipes))
    }
}

/// Opens the standard streams: the child's ends, and ours of pipes.
fn open(stdio: [Stdio; 3]) -> io::Result<(Vec<OwnedFd>, [Option<OwnedFd>; 3])> {
    let mut child_ends = Vec::with_capacity(3);
    let mut parent_ends = [None, None, None];
    for (number, stdio) in stdio.into_iter().enumerate() {
        child_ends.push(match stdio {
            Stdio::Null => {
                rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?
            }
            Stdio::Fd(fd) => fd,
            Stdio::Piped => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
                let (child_end, parent_end) = if number == 0 {
                    (reader, writer)
                } else {
                    (writer, reader)
                };
                parent_ends[number] = Some(parent_end);
                child_end
            }
        });
    }
    Ok((child_ends, parent_ends))
}
