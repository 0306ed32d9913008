//! Keeps an X server usable: ends clients that hold it for themselves or fill its memory.

use std::collections::{HashMap, HashSet};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::getpid;
use telechir_process::Pid;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use x11rb::protocol::res::{self, ConnectionExt as _};

use super::server_memory::{self, ClientMemory};
use super::server_process::{
    ClientConnection, ServerProcess, description, kill_descendant, starved, top_ancestor,
};
use crate::connection::Connection;
use crate::error::XError;

/// Memory that all clients together can reserve in the server; requests beyond it fail.
pub(super) const MAX_CLIENT_BYTES: u64 = 1024 * MIB;
/// Reserved memory from which on the application with the most of it is ended.
const MAX_USED_BYTES: u64 = 768 * MIB;
/// Memory below which no application is ended: others fill the server.
const MIN_GREEDY_BYTES: u64 = 192 * MIB;
/// Number of resources below which an application is not ended for them.
const MIN_GREEDY_RESOURCES: u64 = 8_192;
/// How long clients can hold the server. Window managers hold it for milliseconds.
const MAX_GRAB: Duration = Duration::from_secs(2);
/// At least this part of the time counts as grabbed, however long the client waits for a processor.
const MIN_GRAB_PART: u32 = 5;
/// Interval between probes of the server.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between looks at the server's memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(250);
/// The same while it uses more than [`BUSY_BYTES`]: a client can fill a gigabyte in a second.
const BUSY_INTERVAL: Duration = Duration::from_millis(25);
/// Memory that programs rarely use.
const BUSY_BYTES: u64 = 128 * MIB;
/// Interval between looks at a server that does not answer.
const GRAB_INTERVAL: Duration = Duration::from_millis(100);
/// By how much an answered probe shortens the time that counts as grabbed: a client that releases the
/// server for a moment still holds it most of the time.
const GRAB_DECAY: Duration = Duration::from_millis(125);
/// Maximum number of notices that wait for the next action.
const MAX_NOTICES: usize = 16;
const MIB: u64 = 1 << 20;

/// A running watch; stops when dropped.
#[derive(Debug)]
pub(super) struct ServerWatch {
    notices: Notices,
    task: JoinHandle<()>,
}

impl ServerWatch {
    /// Watches the server through a connection that nothing else uses.
    ///
    /// # Errors
    /// When the server has exited.
    pub(super) fn start(connection: Connection, server: Pid) -> io::Result<Self> {
        let notices = Notices::default();
        let server = ServerProcess::open(server)?;
        let task = WatchTask {
            first_bytes: server.memory_bytes(),
            connection,
            server,
            notices: notices.clone(),
            offenders: HashSet::new(),
            silent: HashSet::new(),
            grabbed: GrabTime::default(),
            has_warned: false,
        };
        let task = tokio::spawn(task.run());
        Ok(Self { notices, task })
    }

    /// What was done since the last call, in sentences.
    pub(super) fn take_notices(&self) -> Vec<String> {
        self.notices.take()
    }
}

impl Drop for ServerWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sentences for the model, which the log shows to the user.
#[derive(Clone, Debug, Default)]
struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    fn add(&self, sentence: String) {
        tracing::warn!("{sentence}");
        let mut sentences = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sentences.len() < MAX_NOTICES {
            sentences.push(sentence);
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct WatchTask {
    connection: Connection,
    server: ServerProcess,
    /// Memory that the server reserved before it had clients.
    first_bytes: u64,
    notices: Notices,
    /// Applications of which a process was ended before: the next time, all of it is ended.
    offenders: HashSet<Pid>,
    /// Clients that had not read their output at the last look.
    silent: HashSet<Pid>,
    grabbed: GrabTime,
    /// Whether it was reported that a client cannot be found.
    has_warned: bool,
}

impl WatchTask {
    async fn run(mut self) {
        let mut probed = Instant::now();
        loop {
            let is_busy = self.used_bytes() > BUSY_BYTES;
            sleep(if is_busy {
                BUSY_INTERVAL
            } else {
                MEMORY_INTERVAL
            })
            .await;
            let is_full = self.used_bytes() > MAX_USED_BYTES;
            let mut outcome = Ok(());
            if is_full || probed.elapsed() >= PROBE_INTERVAL {
                outcome = self.end_holders().await;
                probed = Instant::now();
            }
            if is_full && outcome.is_ok() {
                outcome = self.limit_memory().await;
            } else {
                self.silent.clear();
            }
            match outcome {
                Err(XError::Lost(_)) => return,
                Err(XError::Impossible(why)) => self.warn_once(why),
                Ok(()) | Err(XError::Refused(_) | XError::TimedOut { .. }) => {}
            }
        }
    }

    /// Memory that the server has reserved for its clients, in bytes.
    fn used_bytes(&self) -> u64 {
        let reserved = self.server.memory_bytes();
        reserved.saturating_sub(self.first_bytes)
    }

    fn warn_once(&mut self, sentence: String) {
        if !self.has_warned {
            self.has_warned = true;
            self.notices.add(sentence);
        }
    }

    /// Ends the clients that keep the server from answering us.
    async fn end_holders(&mut self) -> Result<(), XError> {
        let (connection, server) = (&self.connection, &self.server);
        let max_bytes = self.first_bytes + MAX_USED_BYTES;
        for holder in until_answered(connection, server, &mut self.grabbed, max_bytes).await? {
            holder.disconnect();
            if let Some(pid) = holder.pid {
                self.end(
                    pid,
                    "it held the X server for itself, so that no other program could use the screen",
                );
            }
        }
        Ok(())
    }

    /// Ends the application that fills the server's memory.
    async fn limit_memory(&mut self) -> Result<(), XError> {
        let used = self.used_bytes();
        if !self.connection.has(res::X11_EXTENSION_NAME)? {
            return Err(unnamed(used, ""));
        }
        let version = self.connection.x().res_query_version(1, 2)?;
        self.connection.reply(version).await?;
        let clients = &server_memory::of_clients(&self.connection).await?;
        let mut greedy = greediest(clients, |client| client.bytes, MIN_GREEDY_BYTES);
        if greedy.is_empty() && self.end_silent()? {
            return Ok(());
        }
        if greedy.is_empty() {
            greedy = greediest(clients, |client| client.resources, MIN_GREEDY_RESOURCES);
        }
        if greedy.is_empty() {
            return Err(unnamed(used, ""));
        }
        for client in greedy {
            let why = format!(
                "it used at least {} MiB of the X server's memory, of which programs have {} MiB, \
                 for {} resources",
                client.bytes / MIB,
                MAX_USED_BYTES / MIB,
                client.resources
            );
            let connections = client.pid.map(|pid| self.server.clients_of(pid));
            match (client.pid, connections) {
                (Some(pid), Some(Ok(connections))) if !connections.is_empty() => {
                    self.end(pid, &why);
                }
                // The client is gone and asked the server to keep its resources.
                _ => {
                    server_memory::destroy(&self.connection, client.base).await?;
                    self.notices
                        .add(format!("What a program left was removed: {why}."));
                }
            }
        }
        Ok(())
    }

    /// Ends clients that send requests but do not read the answers, which the server keeps; returns
    /// whether there are any.
    fn end_silent(&mut self) -> Result<bool, XError> {
        let silent = self.server.clients_with_unread_output();
        let silent = silent.map_err(|error| unnamed(self.used_bytes(), &format!(" ({error})")))?;
        let silent: HashSet<Pid> = silent.iter().filter_map(|client| client.pid).collect();
        let ended: Vec<Pid> = silent.intersection(&self.silent).copied().collect();
        for pid in &ended {
            let used = self.used_bytes() / MIB;
            self.end(
                *pid,
                &format!("it left the X server's answers unread, and {used} MiB were in use"),
            );
        }
        let is_explained = !silent.is_empty();
        self.silent = silent;
        Ok(is_explained)
    }

    /// Closes the connections of a process and kills it; its application, too, if another process
    /// of it was ended before.
    fn end(&mut self, pid: Pid, why: &str) {
        let who = description(pid);
        for connection in self.server.clients_of(pid).into_iter().flatten() {
            connection.disconnect();
        }
        let application = top_ancestor(pid);
        let is_repeated = application.is_some_and(|first| !self.offenders.insert(first));
        let is_ended = kill_descendant(pid);
        let how = match application {
            Some(first) if is_repeated => {
                kill_descendant(first);
                "was ended with its application"
            }
            _ if is_ended => "was ended",
            _ => "was disconnected from the screen",
        };
        self.notices.add(format!("{who} {how}: {why}."));
    }
}

/// What is said if the server is full and no client is to blame.
fn unnamed(used_bytes: u64, why: &str) -> XError {
    XError::Impossible(format!(
        "The X server uses {} MiB for programs, and which program causes this cannot be \
         found{why}. At {} MiB it refuses their requests.",
        used_bytes / MIB,
        MAX_CLIENT_BYTES / MIB
    ))
}

/// Waits until the server answers; returns the clients that have held it for too long, if it does
/// not.
async fn until_answered(
    connection: &Connection,
    server: &ServerProcess,
    grabbed: &mut GrabTime,
    max_bytes: u64,
) -> Result<Vec<ClientConnection>, XError> {
    let mut answer = pin!(connection.sync());
    loop {
        if let Ok(outcome) = timeout(GRAB_INTERVAL, &mut answer).await {
            grabbed.decay();
            return outcome.map(|()| Vec::new());
        }
        let holders = server.grab_holders().map_err(|error| {
            XError::Impossible(format!(
                "The X server does not answer; whether a program holds it cannot be found: {error}."
            ))
        })?;
        // Only they can have filled its memory.
        let is_full = !holders.is_empty() && server.memory_bytes() > max_bytes;
        if grabbed.exceeds_limit(server.starved(), &holders) || is_full {
            return Ok(holders);
        }
    }
}

/// How long clients have held the server, apart from waits for a processor.
#[derive(Debug, Default)]
struct GrabTime {
    total: Duration,
    latest: Option<GrabSample>,
}

#[derive(Debug)]
struct GrabSample {
    at: Instant,
    holders: Vec<Option<Pid>>,
    starved: Duration,
}

impl GrabTime {
    /// Counts the time since the last call, if the server was held then as well.
    fn exceeds_limit(&mut self, server_starved: Duration, holders: &[ClientConnection]) -> bool {
        if holders.is_empty() {
            self.latest = None;
            return false;
        }
        let holders: Vec<Option<Pid>> = holders.iter().map(|holder| holder.pid).collect();
        let waits = holders.iter().flatten().map(|pid| starved(*pid));
        let sample = GrabSample {
            at: Instant::now(),
            starved: server_starved + waits.sum(),
            holders,
        };
        self.count(sample);
        let exceeds = self.total >= MAX_GRAB;
        if exceeds {
            *self = Self::default();
        }
        exceeds
    }

    fn count(&mut self, sample: GrabSample) {
        if let Some(before) = &self.latest {
            let elapsed = sample.at - before.at;
            let is_same = before.holders == sample.holders;
            let starved = sample.starved.saturating_sub(before.starved);
            let starved = if is_same { starved } else { Duration::ZERO };
            self.total += elapsed.saturating_sub(starved).max(elapsed / MIN_GRAB_PART);
        }
        self.latest = Some(sample);
    }

    fn decay(&mut self) {
        self.latest = None;
        self.total = self.total.saturating_sub(GRAB_DECAY);
    }
}

/// The clients with the most of `measure` of the application with the most; empty if no application
/// has `min`.
fn greediest(
    clients: &[ClientMemory],
    measure: impl Fn(&ClientMemory) -> u64,
    min: u64,
) -> Vec<ClientMemory> {
    let mut applications: HashMap<(Option<Pid>, u32), Vec<ClientMemory>> = HashMap::new();
    for client in clients {
        if client.pid == Some(getpid()) {
            continue;
        }
        let application = client.pid.and_then(top_ancestor);
        let alone = if application.is_none() {
            client.base
        } else {
            0
        };
        applications
            .entry((application, alone))
            .or_default()
            .push(*client);
    }
    let total = |clients: &[ClientMemory]| clients.iter().map(&measure).sum::<u64>();
    let greediest = applications
        .into_values()
        .max_by_key(|clients| total(clients));
    let mut greediest = greediest.unwrap_or_default();
    let sum = total(&greediest);
    if sum < min {
        return Vec::new();
    }
    greediest.retain(|client| measure(client) >= sum / 16);
    greediest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Instant, holder: i32, starved_ms: u64) -> GrabSample {
        GrabSample {
            at,
            holders: vec![Pid::from_raw(holder)],
            starved: Duration::from_millis(starved_ms),
        }
    }

    /// The time that counts as held after samples every 100 ms: (holder, its waits in ms).
    fn grabbed_ms(samples: &[(i32, u64)]) -> u128 {
        let mut grabbed = GrabTime::default();
        let start = Instant::now();
        for (number, (holder, starved)) in (0..).zip(samples) {
            grabbed.count(sample(start + GRAB_INTERVAL * number, *holder, *starved));
        }
        grabbed.total.as_millis()
    }

    #[test]
    fn waits_for_a_processor_count_little() {
        assert_eq!(grabbed_ms(&[(7, 0), (7, 0), (7, 0)]), 200);
        assert_eq!(grabbed_ms(&[(7, 0), (7, 90), (7, 180)]), 40);
    }

    #[test]
    fn clients_that_take_turns_hold_the_server_all_the_time() {
        assert_eq!(grabbed_ms(&[(7, 0), (8, 90), (7, 180)]), 200);
    }

    #[test]
    fn a_moment_of_release_does_not_clear_the_time() {
        let mut grabbed = GrabTime {
            total: Duration::from_millis(1_900),
            latest: None,
        };
        grabbed.decay();
        assert_eq!(grabbed.total, Duration::from_millis(1_775));
    }

    #[test]
    fn the_greediest_application_is_the_one_with_the_most_memory_above_a_limit() {
        let client = |base, mib: u64| ClientMemory {
            base,
            pid: None,
            bytes: mib * MIB,
            resources: 1,
        };
        let find =
            |clients: &[ClientMemory]| greediest(clients, |client| client.bytes, MIN_GREEDY_BYTES);
        assert_eq!(find(&[client(1, 100), client(2, 191)]), []);
        let found = find(&[client(1, 300), client(2, 500), client(3, 1)]);
        assert_eq!(found, [client(2, 500)]);
    }
}
