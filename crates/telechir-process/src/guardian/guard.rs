//! Our side: what the guardian is told, and what happens when it dies before us.

use std::fs::{self, File as SystemFile};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::link::Link;
use super::state::{Change, File, Ward};
use super::{CleanupScope, GENTLE, GuardError, MARKER, processes};
use crate::spawner::{start, start_and_wait};
use crate::{Child, Spawn, Stdio};

/// Longer than a guardian takes; past it, it hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many guardians may die before we stop making more.
const MOST_DEATHS: u32 = 20;

/// The session of this process, when it has a guardian.
static CURRENT: Mutex<Option<Watched>> = Mutex::new(None);

/// What every started program gets: the way to be known as the session's.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    link: Arc<Link>,
    ward: Arc<Mutex<Ward>>,
    token: Arc<str>,
}

impl Watched {
    pub(crate) fn marker(&self) -> (&'static str, &str) {
        (MARKER, &self.token)
    }

    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link)
    }
}

/// The guardian of this process's session. When it is ended or dropped, the guardian cleans up
/// and this waits until it did.
#[derive(Debug)]
pub struct Guard {
    session: Session,
    done: Receiver<bool>,
}

/// That this process has a session; it ends with this, also when its start was given up.
#[derive(Debug)]
struct Session(Arc<str>);

impl Guard {
    /// Starts `program` as the guardian: it must call [`stand_watch`](super::stand_watch), and
    /// gets its socket as standard input. Before the first program that it is to look after.
    ///
    /// `lost` is called, on a thread of our own, when a guardian died before us, with how the
    /// start of another one went.
    ///
    /// # Errors
    /// When it cannot be started, or this process has one.
    pub async fn start(
        program: impl Fn() -> Spawn + Send + 'static,
        charge: CleanupScope,
        lost: impl Fn(Result<(), GuardError>) + Send + 'static,
    ) -> Result<Self, GuardError> {
        let token = random().map_err(GuardError::Socket)?;
        let ward = Ward {
            token: token.clone(),
            owner: rustix::process::getpid().as_raw_nonzero().get(),
            uid: charge.identity.map(|identity| identity.uid),
            roots: charge.roots,
            ..Ward::default()
        };
        let held = charge.held;
        let (link, spawn) = prepare(&program, &ward, &held)?;
        let mut watched = Watched {
            link: Arc::new(link),
            ward: Arc::new(Mutex::new(ward)),
            token: token.into(),
        };
        let session = Session::register(&watched)?;
        let guardian = begin(spawn).await?;
        let (report, done) = channel();
        let keep = move || {
            let mut guardian = guardian;
            for _ in 0..MOST_DEATHS {
                let cleaned = wait(&guardian);
                if is_over(&watched) {
                    let _nobody_waits = report.send(cleaned);
                    return;
                }
                match renew(&mut watched, &program, &held) {
                    Ok(another) => guardian = another,
                    Err(error) => return lost(Err(error)),
                }
                lost(Ok(()));
            }
            lost(Err(GuardError::Again));
        };
        let thread = thread::Builder::new().name("telechir-guard".to_owned());
        thread.spawn(keep).map_err(GuardError::Thread)?;
        Ok(Self { session, done })
    }

    /// Has the guardian clean up, and waits for it; says whether it removed everything.
    pub fn end(self) -> bool {
        self.finish()
    }

    fn finish(&self) -> bool {
        if !self.session.end() {
            return true;
        }
        // One that hangs, or is no more, removed nothing.
        self.done.recv_timeout(PATIENCE).unwrap_or(false)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _nobody_to_tell = self.finish();
    }
}

/// What the names of the session's folders must begin with, so that its guardian removes them.
/// Without a guardian, just our own name.
pub fn folder_prefix() -> String {
    let ward = current().map(|watched| locked(&watched.ward).prefix());
    ward.unwrap_or_else(|| "telechir-".to_owned())
}

/// Leaves a file to the guardian: when all else is over, `name` and before it `companion` are
/// removed, if `name` is then the same file that `made` is now. To be called before the file is
/// linked to that name, so that there is no moment in which nobody knows it.
///
/// # Errors
/// When `made` is not there.
pub fn owns_file(name: &Path, made: &Path, companion: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(made)?;
    let file = File {
        device: found.dev(),
        inode: found.ino(),
        companion: companion.to_owned(),
    };
    tell(Change::Owns(name.to_owned(), file));
    Ok(())
}

/// Takes a file back from the guardian.
pub fn unowns_file(name: &Path) {
    tell(Change::Unowns(name.to_owned()));
}

/// Leaves a control group to the guardian, by its folder: all in it is killed, and it is removed.
/// To be called before it is made.
pub(crate) fn owns_group(folder: &Path) {
    tell(Change::Group(folder.to_owned()));
}

/// Takes a control group back.
pub(crate) fn unowns_group(folder: &Path) {
    tell(Change::Ungroup(folder.to_owned()));
}

/// Has the guardian give a program a moment that ends by itself when we do.
pub(crate) fn ends_gently(pid: Pid) {
    let pid = pid.as_raw_nonzero().get();
    if current().is_some()
        && let Some(began) = processes::began(pid)
    {
        note(&format!("{GENTLE}{pid}"), &began.to_string());
    }
}

/// Leaves a word for whoever wrote the guardian's program, which gets it at our end. No secret:
/// the guardian has none.
pub fn note(key: &str, value: &str) {
    tell(Change::Note(key.to_owned(), value.to_owned()));
}

/// Takes a word back.
pub fn unnote(key: &str) {
    tell(Change::Unnote(key.to_owned()));
}

/// The session that a program started now belongs to.
pub(crate) fn current() -> Option<Watched> {
    current_lock().clone()
}

/// Whether this process's session has a guardian.
pub(crate) fn is_there() -> bool {
    current_lock().is_some()
}

/// A program runs; it told the guardian itself, but not us.
pub(crate) fn started(pid: i32) {
    if current().is_some()
        && let Some(began) = processes::began(pid)
    {
        tell(Change::Started(pid, began));
    }
}

/// A program was reaped: its number is free.
pub(crate) fn ended(pid: i32) {
    tell(Change::Ended(pid));
    unnote(&format!("{GENTLE}{pid}"));
}

fn tell(change: Change) {
    let current = current_lock();
    if let Some(watched) = current.as_ref() {
        watched.link.tell(&change.message());
        locked(&watched.ward).apply(change);
    }
}

impl Session {
    fn register(watched: &Watched) -> Result<Self, GuardError> {
        let mut current = current_lock();
        if current.is_some() {
            return Err(GuardError::Second);
        }
        *current = Some(watched.clone());
        Ok(Self(Arc::clone(&watched.token)))
    }

    /// The guardian hears of it by the end of the socket. Whether it had not ended yet.
    fn end(&self) -> bool {
        let watched = current_lock().take_if(|watched| watched.token == self.0);
        if let Some(watched) = &watched {
            watched.link.end();
        }
        watched.is_some()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether the guardian of this session was told to end.
fn is_over(watched: &Watched) -> bool {
    let current = current_lock();
    current
        .as_ref()
        .is_none_or(|now| now.token != watched.token)
}

/// Makes the socket and puts all that a guardian must know into it, so that one that runs knows.
fn prepare(
    program: &impl Fn() -> Spawn,
    ward: &Ward,
    held: &[OwnedFd],
) -> Result<(Link, Spawn), GuardError> {
    let failed = |errno: Errno| GuardError::Socket(errno.into());
    let (link, theirs) = Link::pair().map_err(failed)?;
    for message in ward.messages() {
        link.tell(&message);
    }
    let mut spawn = program().stdin(Stdio::Fd(theirs)).cwd("/").detached();
    for (number, held) in (3..).zip(held) {
        spawn = spawn.fd(number, held.try_clone().map_err(GuardError::Socket)?);
    }
    Ok((link, spawn))
}

async fn begin(spawn: Spawn) -> Result<Child, GuardError> {
    let (plan, _no_pipes) = spawn.prepare()?;
    Ok(start(plan).await?)
}

/// Starts another guardian, which is told what the one before knew.
fn renew(
    watched: &mut Watched,
    program: &impl Fn() -> Spawn,
    held: &[OwnedFd],
) -> Result<Child, GuardError> {
    let spawn = {
        let mut current = current_lock();
        let (link, spawn) = prepare(program, &locked(&watched.ward), held)?;
        watched.link = Arc::new(link);
        if let Some(current) = current.as_mut() {
            *current = watched.clone();
        } else {
            // The session ended meanwhile: this one finds that out at once, and cleans up.
            watched.link.end();
        }
        spawn
    };
    let (plan, _no_pipes) = spawn.prepare()?;
    Ok(start_and_wait(plan)?)
}

/// Waits until the guardian ended; says whether it had done its work.
fn wait(guardian: &Child) -> bool {
    loop {
        match guardian.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => {}
            Err(_) => return false,
        }
        let Some(pidfd) = guardian.pidfd() else {
            return false;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
        let _over_or_interrupted = poll(&mut fds, None);
    }
}

/// Eight letters: sockets lie below folders with this name, and their names have 108 bytes.
fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    SystemFile::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let letter = |byte: u8| char::from(b'a' + byte % 26);
    Ok(bytes.into_iter().map(letter).collect())
}

fn current_lock() -> MutexGuard<'static, Option<Watched>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn locked(ward: &Mutex<Ward>) -> MutexGuard<'_, Ward> {
    ward.lock().unwrap_or_else(PoisonError::into_inner)
}
