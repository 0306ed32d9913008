//! Waits until the screen has settled, based on the server's damage reports and the activity of the
//! programs on the display.

mod activity;
pub(crate) mod idle;
mod late_updates;
mod threads;
mod timers;
mod tracker;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use telechir_device::{ScreenRegion, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::{Instant, timeout_at};
use x11rb::NONE;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};

use self::activity::{ProcessActivity, Sleep, TimerWindow};
use self::late_updates::{LateUpdates, UNKNOWN_WATCH};
use self::threads::WatchedProcesses;
use self::tracker::{DamageRect, SettleSince, SettleTracker, WaitStep};
use crate::connection::Connection;
use crate::error::XError;

/// Damage with more rectangles than this is reduced to its bounding rectangle.
const MAX_RECTANGLES: usize = 16;

/// Collects the damage of the screen and decides when it has settled.
#[derive(Debug)]
pub(crate) struct DamageWatch {
    damage: damage::Damage,
    /// The server-side region that receives the damaged rectangles.
    parts: Region,
    /// Whether the server reports the process IDs of its clients (X-Resource 1.2).
    has_client_ids: bool,
    activity: ProcessActivity,
    late_updates: LateUpdates,
    /// The latest wait, while a late update may still follow it.
    last_wait: Option<FinishedWait>,
    /// The local time at which the server clock was 0.
    clock: Option<Instant>,
    /// Process ID of a local server.
    server: Option<u32>,
    /// Time of the latest known change.
    last_change: Option<Instant>,
    /// Areas that changed continuously at the end of the latest wait.
    animated: Vec<DamageRect>,
    /// Whether the screen changed since the latest capture.
    has_news: bool,
}

/// A completed wait.
#[derive(Clone, Copy, Debug)]
struct FinishedWait {
    acted: Instant,
    ended: Instant,
    /// The program that used the most CPU time during the wait.
    busiest_program: u32,
}

/// The input of one wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) settle: Settle,
    pub(crate) screen: Size,
    /// Time of the latest action; absent if there was none since the last wait.
    pub(crate) acted: Option<Instant>,
    /// Processes started on the display; absent if other programs may run on it.
    pub(crate) programs: Option<&'a [u32]>,
    pub(crate) mode: SettleMode,
}

/// Which pending updates a wait covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettleMode {
    /// All effects of the latest action, as far as program activity shows them.
    Effect,
    /// What is already drawn, and the next frame of animations. The caller knows about the rest.
    Frame,
}

impl DamageWatch {
    /// `None` if the server lacks the DAMAGE extension.
    pub(crate) async fn new(connection: &Connection) -> Result<Option<Self>, XError> {
        if !connection.has(damage::X11_EXTENSION_NAME)? {
            return Ok(None);
        }
        let x = connection.x();
        connection.reply(x.damage_query_version(1, 1)?).await?;
        let has_client_ids = connection.is_local() && connection.has(res::X11_EXTENSION_NAME)? && {
            let version = connection.reply(x.res_query_version(1, 2)?).await?;
            (version.server_major, version.server_minor) >= (1, 2)
        };
        let damage = x.generate_id()?;
        x.damage_create(damage, connection.root(), ReportLevel::NON_EMPTY)?;
        let parts = x.generate_id()?;
        connection
            .checked(x.xfixes_create_region(parts, &[])?)
            .await?;
        Ok(Some(Self {
            damage,
            parts,
            has_client_ids,
            activity: ProcessActivity::default(),
            late_updates: LateUpdates::default(),
            last_wait: None,
            clock: None,
            server: connection.server(),
            last_change: None,
            animated: Vec::new(),
            has_news: true,
        }))
    }

    /// Waits until the quiet period has passed without changes and no program is active, or until
    /// the limit. Returns at once if there was no action and the last change is older than the
    /// quiet period.
    pub(crate) async fn settle(
        &mut self,
        connection: &Connection,
        wait: Wait<'_>,
    ) -> Result<Settled, XError> {
        let start = Instant::now();
        let watched = self
            .watched_processes(connection, wait.programs.unwrap_or_default())
            .await?;
        let since = match (wait.acted, self.last_change) {
            (Some(acted), _) => SettleSince::Acted(acted.min(start)),
            (None, Some(changed)) => SettleSince::Changed(changed),
            (None, None) => SettleSince::Acted(start),
        };
        let window = TimerWindow::of(wait.mode, wait.acted.unwrap_or(start), wait.settle);
        self.activity.start(watched, window, start);
        let known = std::mem::take(&mut self.animated);
        let mut tracker = SettleTracker::new(start, since, wait.settle, wait.screen, known);
        if wait.programs.is_some() && wait.mode == SettleMode::Effect {
            tracker.trust_idle();
        }
        loop {
            connection.drain()?;
            if let Some(at) = connection.take_damaged() {
                let changed = self.take_damage(connection).await?;
                let now = Instant::now();
                self.set_clock(now, at);
                tracker.changed(now, &changed);
            }
            let now = Instant::now();
            match tracker.next(now) {
                WaitStep::Done {
                    unsettled,
                    animated,
                } => {
                    self.remember(wait.acted, &tracker, now);
                    self.last_change = Some(tracker.last_change());
                    self.animated = tracker.animated(now);
                    return Ok(Settled {
                        unsettled,
                        waited: now - start,
                        animated_region: animated
                            .and_then(|area| ScreenRegion::clip(wait.screen, area)),
                    });
                }
                WaitStep::Sample => {
                    let sample = self.activity.sample(tracker.last_change(), now);
                    // Damage drawn before the programs fell asleep has arrived by now and is
                    // processed first.
                    tracker.sampled(now, now.elapsed(), sample);
                    if let Some((acted, busiest_program)) =
                        wait.acted.zip(self.activity.busiest_program())
                    {
                        if let Some(after) = self.late_updates.expected_delay(busiest_program) {
                            tracker.expect_update(acted + after);
                        } else if sample.is_some_and(|sample| sample.sleep == Sleep::Idle)
                            && self.late_updates.is_unknown(busiest_program)
                            && self
                                .activity
                                .has_timer_within(busiest_program, UNKNOWN_WATCH)
                        {
                            tracker.watch_until(acted + UNKNOWN_WATCH);
                        }
                    }
                }
                // Wakes up on damage or at the next decision.
                WaitStep::Wait(until) => {
                    if let Ok(event) = timeout_at(until, connection.next_event()).await {
                        event?;
                    }
                }
            }
        }
    }

    /// Prepares for an action: timers and damage up to now are not its effects.
    pub(crate) async fn before_action(&mut self, connection: &Connection) -> Result<(), XError> {
        self.activity.before_action(Instant::now());
        connection.drain()?;
        if let Some(at) = connection.take_damaged() {
            self.note_change(connection, at).await?;
        }
        self.last_wait = None;
        Ok(())
    }

    /// Records damage outside of a wait and re-enables damage reports. `at` is the server time of
    /// the first change in milliseconds.
    pub(crate) async fn note_change(
        &mut self,
        connection: &Connection,
        at: u32,
    ) -> Result<(), XError> {
        let changed = self.take_damage(connection).await?;
        self.last_change = Some(Instant::now());
        let is_known = |area: &DamageRect| {
            self.animated
                .iter()
                .any(|known| tracker::contains(*known, *area))
        };
        let has_news = changed
            .iter()
            .any(|area| !tracker::may_blink(*area) && !is_known(area));
        let at = self
            .clock
            .map(|clock| clock + Duration::from_millis(at.into()));
        if has_news
            && let (Some(last_wait), Some(at)) = (self.last_wait.take(), at)
            && at > last_wait.ended
        {
            self.late_updates
                .record_late(last_wait.busiest_program, at - last_wait.acted);
        }
        Ok(())
    }

    /// Records what the wait shows about the busiest program, for later waits.
    fn remember(&mut self, acted: Option<Instant>, tracker: &SettleTracker, now: Instant) {
        self.last_wait = None;
        let (Some(acted), Some(busiest_program)) = (acted, self.activity.busiest_program()) else {
            return;
        };
        self.late_updates.record_wait(busiest_program);
        if let Some(after) = tracker.learned_delay(acted) {
            self.late_updates.record_late(busiest_program, after);
        } else if tracker.missed_expected(now) {
            self.late_updates.record_miss(busiest_program);
        } else if let Some(after) = tracker.expected_delay(acted) {
            self.late_updates.record_hit(busiest_program, after);
        }
        let ended = now;
        self.last_wait = Some(FinishedWait {
            acted,
            ended,
            busiest_program,
        });
    }

    /// Events arrive after the change, never before it: the smallest offset is the best estimate.
    fn set_clock(&mut self, now: Instant, at: u32) {
        let zero = now.checked_sub(Duration::from_millis(at.into()));
        self.clock = match (self.clock, zero) {
            (Some(clock), Some(zero)) => Some(clock.min(zero)),
            (clock, zero) => zero.or(clock),
        };
    }

    /// Whether the screen changed since the latest capture.
    pub(crate) const fn has_changed(&self) -> bool {
        self.has_news
    }

    /// Marks all damage reported so far as captured.
    pub(crate) const fn mark_captured(&mut self) {
        self.has_news = false;
    }

    /// Fetches and clears the damaged areas. The server sends the next report only after this.
    async fn take_damage(&mut self, connection: &Connection) -> Result<Vec<DamageRect>, XError> {
        let x = connection.x();
        x.damage_subtract(self.damage, NONE, self.parts)?;
        let parts = x.xfixes_fetch_region(self.parts)?;
        let parts = connection.reply(parts).await?;
        self.has_news |= !parts.rectangles.is_empty();
        let areas = if parts.rectangles.len() > MAX_RECTANGLES {
            vec![area(&parts.extents)]
        } else {
            parts.rectangles.iter().map(area).collect()
        };
        Ok(areas)
    }

    /// The processes that can draw: `named` and all local clients. The reply arrives after the
    /// damage events of all earlier changes.
    async fn watched_processes(
        &self,
        connection: &Connection,
        named: &[u32],
    ) -> Result<WatchedProcesses, XError> {
        let mut watched = WatchedProcesses {
            programs: named.to_vec(),
            server: self.server,
            has_hidden: false,
        };
        if !self.has_client_ids {
            connection.sync().await?;
            return Ok(watched);
        }
        let spec = ClientIdSpec {
            client: 0,
            mask: ClientIdMask::LOCAL_CLIENT_PID,
        };
        let clients = connection.x().res_query_client_ids(&[spec])?;
        let clients = connection.reply(clients).await?;
        let clients = clients.ids.iter().filter_map(|id| id.value.first());
        let clients: HashSet<u32> = clients.copied().collect();
        // For example a client in a container with its own PID namespace.
        watched.has_hidden = clients
            .iter()
            .any(|client| !Path::new("/proc").join(client.to_string()).exists());
        watched.programs.extend(clients);
        // Sorted, so that equal sets compare equal.
        watched.programs.sort_unstable();
        Ok(watched)
    }
}

fn area(rectangle: &x11rb::protocol::xproto::Rectangle) -> DamageRect {
    let (left, top) = (i32::from(rectangle.x), i32::from(rectangle.y));
    let (width, height) = (i32::from(rectangle.width), i32::from(rectangle.height));
    [left, top, left + width, top + height]
}
