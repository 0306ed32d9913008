//! The request for a program: everything it gets is named here, nothing is inherited.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit};

use crate::cgroup::Door;
use crate::guardian::{self, Watched};
use crate::program::{find_program, package_of};
use crate::spawner::start;
use crate::sys::exec::Plan;
use crate::{Cgroup, Child, Identity, SpawnError, Step, is_root};

/// Where one of the first three descriptors leads.
#[derive(Debug, Default)]
pub enum Stdio {
    /// To `/dev/null`.
    #[default]
    Null,
    /// To this.
    Fd(OwnedFd),
    /// To a pipe whose other end [`Child`] holds.
    Piped,
}

/// A program to start, with all it gets.
///
/// Its environment is empty, its descriptors are the three standard ones (on `/dev/null`) and it
/// leads a process group of its own, unless said otherwise. It is killed when our process ends,
/// however that happens.
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
    leads: Leads,
    limits: Vec<(Resource, Rlimit)>,
    umask: Option<u32>,
    landlock: Option<OwnedFd>,
    groups: Vec<Door>,
    outlives: bool,
    gentle: bool,
    last: bool,
}

/// What the child leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    Group,
    Session,
    Terminal,
}

impl Spawn {
    /// Starts `program`, a path or a name that is searched in the system's folders.
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
            leads: Leads::Group,
            limits: Vec::new(),
            umask: None,
            landlock: None,
            groups: Vec::new(),
            outlives: false,
            gentle: false,
            last: false,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment, which starts empty. The last of a name wins.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        self.env.retain(|(old, _)| old != name);
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets variables.
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

    /// Starts it in this folder instead of ours. It is entered as the child's user.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Runs it as this user, in no other group and without capabilities; none means as ourselves.
    #[must_use]
    pub const fn identity(mut self, identity: Option<Identity>) -> Self {
        self.identity = identity;
        self
    }

    /// Whether setuid programs are powerless in it; on unless switched off.
    #[must_use]
    pub const fn no_new_privs(mut self, on: bool) -> Self {
        self.no_new_privs = on;
        self
    }

    /// Its standard input.
    #[must_use]
    pub fn stdin(mut self, stdio: Stdio) -> Self {
        self.stdio[0] = stdio;
        self
    }

    /// Its standard output.
    #[must_use]
    pub fn stdout(mut self, stdio: Stdio) -> Self {
        self.stdio[1] = stdio;
        self
    }

    /// Its standard error.
    #[must_use]
    pub fn stderr(mut self, stdio: Stdio) -> Self {
        self.stdio[2] = stdio;
        self
    }

    /// Gives it a descriptor under a number of its choice, above 2. The last of a number wins.
    #[must_use]
    pub fn fd(mut self, number: RawFd, fd: OwnedFd) -> Self {
        self.fds.retain(|(old, _)| *old != number);
        self.fds.push((number, fd));
        self
    }

    /// Lets it lead a session of its own, not only a group: it has no controlling terminal.
    #[must_use]
    pub const fn new_session(mut self) -> Self {
        self.leads = Leads::Session;
        self
    }

    /// Lets it lead a session whose controlling terminal is its standard input.
    #[must_use]
    pub const fn controlling_terminal(mut self) -> Self {
        self.leads = Leads::Terminal;
        self
    }

    /// Limits a resource, softly and hard.
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

    /// Sets the mask of modes of files it makes, such as `0o077`.
    #[must_use]
    pub const fn umask(mut self, mask: u32) -> Self {
        self.umask = Some(mask);
        self
    }

    /// Holds it and all it starts to a Landlock ruleset. Without new privileges only, which is the
    /// default.
    #[must_use]
    pub(crate) fn landlock(mut self, ruleset: Option<OwnedFd>) -> Self {
        self.landlock = ruleset;
        self
    }

    /// Puts it, before it runs, and with it all it starts into a group. Whether it is in is for
    /// [`Cgroup::prove`] to see.
    #[must_use]
    pub fn cgroup(mut self, group: &Cgroup) -> Self {
        self.groups = group.doors();
        self
    }

    /// Lets it live on when our process ends: it leads a session of its own and gets no death
    /// signal. Until [`Child::leave`] it is still ended with its handle.
    #[must_use]
    pub const fn detached(mut self) -> Self {
        self.leads = Leads::Session;
        self.outlives = true;
        self
    }

    /// Lets it end by itself when our process does, as by the end of a pipe: for programs that have
    /// something to write then. The guardian gives it three seconds and kills what is left;
    /// no death signal comes before.
    #[must_use]
    pub const fn graceful(mut self) -> Self {
        self.gentle = true;
        self
    }

    /// Leaves its end to the guardian when our process ends: for programs that those need who end
    /// gently. No death signal comes before.
    #[must_use]
    pub const fn after_graceful(mut self, on: bool) -> Self {
        self.last = on;
        self
    }

    /// Starts it. It runs when this returns.
    ///
    /// # Errors
    /// When the program is not found or a step is refused; nothing is left behind then.
    pub async fn spawn(self) -> Result<Child, SpawnError> {
        let gentle = self.gentle;
        let (plan, pipes) = self.prepare()?;
        let child = start(plan).await?;
        if gentle {
            guardian::ends_gently(child.pid());
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
        let zero = |what| SpawnError::ZeroByte {
            program: name.clone(),
            what,
        };
        let text = |text: &OsStr, what| CString::new(text.as_bytes()).map_err(|_| zero(what));
        let mut argv = vec![text(self.program.as_os_str(), "the program")?];
        for arg in &self.args {
            argv.push(text(arg, "an argument")?);
        }
        let watched = guardian::current().filter(|_| !self.outlives);
        let marker = watched.as_ref().map(Watched::marker);
        let marker = marker.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut env = Vec::new();
        for (variable, value) in self.env.iter().chain(&marker) {
            let mut pair = variable.clone();
            pair.push("=");
            pair.push(value);
            env.push(text(&pair, "a variable")?);
        }
        let (stdio, pipes) = open(self.stdio).map_err(|source| SpawnError::System {
            program: name.clone(),
            step: Step::Descriptors,
            source,
        })?;
        let fds = (0..).zip(stdio).chain(self.fds).collect();
        let plan = Plan {
            path: text(path.as_os_str(), "the program")?,
            argv,
            env,
            cwd: self
                .cwd
                .as_ref()
                .map(|cwd| text(cwd.as_os_str(), "the folder"))
                .transpose()?,
            fds,
            identity: self.identity.filter(|_| is_root()),
            no_new_privs: self.no_new_privs,
            leads: self.leads,
            limits: self.limits,
            umask: self.umask,
            landlock: self.landlock,
            groups: self.groups,
            outlives: self.outlives,
            is_spared: self.gentle || self.last,
            guardian: watched.as_ref().map(Watched::link),
            name,
        };
        Ok((plan, pipes))
    }
}

/// The child's ends, and ours of those that are pipes.
fn open(stdio: [Stdio; 3]) -> io::Result<(Vec<OwnedFd>, [Option<OwnedFd>; 3])> {
    let mut theirs = Vec::with_capacity(3);
    let mut ours = [None, None, None];
    for (number, stdio) in stdio.into_iter().enumerate() {
        theirs.push(match stdio {
            Stdio::Null => {
                rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?
            }
            Stdio::Fd(fd) => fd,
            Stdio::Piped => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
                let (their, our) = if number == 0 {
                    (reader, writer)
                } else {
                    (writer, reader)
                };
                ours[number] = Some(our);
                their
            }
        });
    }
    Ok((theirs, ours))
}
