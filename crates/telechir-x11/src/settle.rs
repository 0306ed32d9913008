//! Waiting until the screen stopped changing, told by the server's damage reports and by how
//! much the programs on the screen work.

mod activity;
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

use self::activity::{Sleep, Timely, Work};
use self::late_updates::{CURIOUS, Habits};
use self::threads::Cast;
use self::tracker::{Area, Next, Since, Stillness};
use crate::connection::Connection;
use crate::error::XError;

/// A report with more rectangles than this counts as the one around them.
const MOST_RECTANGLES: usize = 16;

/// Collects what the server says about changed parts of the screen.
#[derive(Debug)]
pub(crate) struct DamageWatch {
    damage: damage::Damage,
    /// Where the server puts the changed rectangles for us to fetch.
    parts: Region,
    /// Whether the server says which processes its clients are.
    knows_clients: bool,
    work: Work,
    habits: Habits,
    /// The last wait, while what comes of it can still be late.
    over: Option<Over>,
    /// When the server's clock was at 0.
    clock: Option<Instant>,
    /// The server's process, when it is one of this machine.
    server: Option<u32>,
    /// When the screen was last known to have changed.
    last_change: Option<Instant>,
    /// What changed by itself when it was last looked at.
    restless: Vec<Area>,
    /// Whether anything changed since the last picture was taken.
    is_news: bool,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug)]
struct Over {
    acted: Instant,
    ended: Instant,
    /// The program that did most of what there was to do.
    actor: u32,
}

/// What a wait has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) settle: Settle,
    pub(crate) screen: Size,
    /// When something was last done to the screen; none when nothing was since the last wait.
    pub(crate) acted: Option<Instant>,
    /// Processes that were started on the screen; none when others may start some too.
    pub(crate) programs: Option<&'a [u32]>,
    pub(crate) patience: Patience,
}

/// What of that which is still to come is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// All that may come of what was done, as far as programs show it.
    ForEffects,
    /// What is drawn already, and the next picture of what moves: whoever draws knows the rest.
    Frame,
}

impl DamageWatch {
    /// None where the server has no damage reports.
    pub(crate) async fn new(connection: &Connection) -> Result<Option<Self>, XError> {
        if !connection.has(damage::X11_EXTENSION_NAME)? {
            return Ok(None);
        }
        let x = connection.x();
        connection.reply(x.damage_query_version(1, 1)?).await?;
        let knows_clients = connection.is_local() && connection.has(res::X11_EXTENSION_NAME)? && {
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
            knows_clients,
            work: Work::default(),
            habits: Habits::default(),
            over: None,
            clock: None,
            server: connection.server(),
            last_change: None,
            restless: Vec::new(),
            is_news: true,
        }))
    }

    /// Waits until nothing changed for the quiet period and no program works, or the ceiling.
    /// When nothing was done and nothing changed for that long already, it is over at once.
    pub(crate) async fn settle(
        &mut self,
        connection: &Connection,
        wait: Wait<'_>,
    ) -> Result<Settled, XError> {
        let start = Instant::now();
        let cast = self
            .cast(connection, wait.programs.unwrap_or_default())
            .await?;
        let since = match (wait.acted, self.last_change) {
            (Some(acted), _) => Since::Acted(acted.min(start)),
            (None, Some(changed)) => Since::Changed(changed),
            (None, None) => Since::Acted(start),
        };
        let timely = Timely::of(wait.patience, wait.acted.unwrap_or(start), wait.settle);
        self.work.begin(cast, timely, start);
        let known = std::mem::take(&mut self.restless);
        let mut stillness = Stillness::new(start, since, wait.settle, wait.screen, known);
        if wait.programs.is_some() && wait.patience == Patience::ForEffects {
            stillness.knows_all();
        }
        loop {
            connection.drain()?;
            if let Some(at) = connection.take_damaged() {
                let changed = self.take(connection).await?;
                let now = Instant::now();
                self.set_clock(now, at);
                stillness.changed(now, &changed);
            }
            let now = Instant::now();
            match stillness.next(now) {
                Next::Done { held, restless } => {
                    self.remember(wait.acted, &stillness, now);
                    self.last_change = Some(stillness.last_change());
                    self.restless = stillness.restless(now);
                    return Ok(Settled {
                        unsettled: held,
                        waited: now - start,
                        animated_region: restless
                            .and_then(|area| ScreenRegion::seen(wait.screen, area)),
                    });
                }
                Next::Look => {
                    let look = self.work.look(stillness.last_change(), now);
                    // What they had drawn before they slept is told by now, and taken in first.
                    stillness.looked(now, now.elapsed(), look);
                    if let Some((acted, actor)) = wait.acted.zip(self.work.actor()) {
                        if let Some(after) = self.habits.of(actor) {
                            stillness.expect(acted + after);
                        } else if look.is_some_and(|look| look.sleep == Sleep::Sound)
                            && self.habits.is_new(actor)
                            && self.work.has_alarm(actor, CURIOUS)
                        {
                            stillness.wonder(acted + CURIOUS);
                        }
                    }
                }
                // Either a change wakes us, or the moment when something is to be decided.
                Next::Wait(until) => {
                    if let Ok(event) = timeout_at(until, connection.next_event()).await {
                        event?;
                    }
                }
            }
        }
    }

    /// Something is about to be done: what programs have begun by now is not because of it.
    pub(crate) async fn before(&mut self, connection: &Connection) -> Result<(), XError> {
        self.work.before(Instant::now());
        connection.drain()?;
        if let Some(at) = connection.take_damaged() {
            self.note(connection, at).await?;
        }
        self.over = None;
        Ok(())
    }

    /// Notes a change that was seen outside of a wait. Has the server report the next one.
    /// `at` is when it began, by the server's clock.
    pub(crate) async fn note(&mut self, connection: &Connection, at: u32) -> Result<(), XError> {
        let changed = self.take(connection).await?;
        self.last_change = Some(Instant::now());
        let is_known = |area: &Area| {
            self.restless
                .iter()
                .any(|known| tracker::holds(*known, *area))
        };
        let is_news = changed
            .iter()
            .any(|area| !tracker::may_blink(*area) && !is_known(area));
        let at = self
            .clock
            .map(|clock| clock + Duration::from_millis(at.into()));
        if is_news
            && let (Some(over), Some(at)) = (self.over.take(), at)
            && at > over.ended
        {
            self.habits.was_late(over.actor, at - over.acted);
        }
        Ok(())
    }

    /// What a wait leaves for the next: who did something, and whether a habit was one.
    fn remember(&mut self, acted: Option<Instant>, stillness: &Stillness, now: Instant) {
        self.over = None;
        let (Some(acted), Some(actor)) = (acted, self.work.actor()) else {
            return;
        };
        self.habits.meet(actor);
        if let Some(after) = stillness.learned(acted) {
            self.habits.was_late(actor, after);
        } else if stillness.was_disappointed(now) {
            self.habits.was_wrong(actor);
        } else if let Some(after) = stillness.kept(acted) {
            self.habits.was_right(actor, after);
        }
        let ended = now;
        self.over = Some(Over {
            acted,
            ended,
            actor,
        });
    }

    /// A change is heard of at once, or later, but never before it.
    fn set_clock(&mut self, now: Instant, at: u32) {
        let zero = now.checked_sub(Duration::from_millis(at.into()));
        self.clock = match (self.clock, zero) {
            (Some(clock), Some(zero)) => Some(clock.min(zero)),
            (clock, zero) => zero.or(clock),
        };
    }

    /// Whether anything changed since the last picture.
    pub(crate) const fn has_news(&self) -> bool {
        self.is_news
    }

    /// A picture was taken of all that was reported so far.
    pub(crate) const fn was_seen(&mut self) {
        self.is_news = false;
    }

    /// The areas that changed since the last time. The server reports again only after this.
    async fn take(&mut self, connection: &Connection) -> Result<Vec<Area>, XError> {
        let x = connection.x();
        x.damage_subtract(self.damage, NONE, self.parts)?;
        let parts = x.xfixes_fetch_region(self.parts)?;
        let parts = connection.reply(parts).await?;
        self.is_news |= !parts.rectangles.is_empty();
        let areas = if parts.rectangles.len() > MOST_RECTANGLES {
            vec![area(&parts.extents)]
        } else {
            parts.rectangles.iter().map(area).collect()
        };
        Ok(areas)
    }

    /// Who draws: those named, and all whose connection is from this machine. Its answer comes
    /// after every change that was made so far.
    async fn cast(&self, connection: &Connection, named: &[u32]) -> Result<Cast, XError> {
        let mut cast = Cast {
            programs: named.to_vec(),
            server: self.server,
            has_hidden: false,
        };
        if !self.knows_clients {
            connection.sync().await?;
            return Ok(cast);
        }
        let all = ClientIdSpec {
            client: 0,
            mask: ClientIdMask::LOCAL_CLIENT_PID,
        };
        let clients = connection.x().res_query_client_ids(&[all])?;
        let clients = connection.reply(clients).await?;
        let clients = clients.ids.iter().filter_map(|id| id.value.first());
        let clients: HashSet<u32> = clients.copied().collect();
        // Such as one that is in a container of its own.
        cast.has_hidden = clients
            .iter()
            .any(|client| !Path::new("/proc").join(client.to_string()).exists());
        cast.programs.extend(clients);
        // The same programs are the same cast.
        cast.programs.sort_unstable();
        Ok(cast)
    }
}

fn area(rectangle: &x11rb::protocol::xproto::Rectangle) -> Area {
    let (left, top) = (i32::from(rectangle.x), i32::from(rectangle.y));
    let (width, height) = (i32::from(rectangle.width), i32::from(rectangle.height));
    [left, top, left + width, top + height]
}
