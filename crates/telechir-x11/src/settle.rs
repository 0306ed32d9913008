//! Waiting until the screen stopped changing, told by the server's damage reports and by how
//! much the programs on the screen work.

mod stillness;
mod work;

use std::collections::HashSet;

use telechir_device::{ScreenRegion, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::{Instant, timeout_at};
use x11rb::NONE;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};

use self::stillness::{Area, Next, Since, Stillness};
use self::work::Work;
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
    /// When the screen was last known to have changed.
    last_change: Option<Instant>,
    /// What changed by itself when it was last looked at.
    restless: Vec<Area>,
    /// Whether anything changed since the last picture was taken.
    is_news: bool,
}

/// What a wait has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) settle: Settle,
    pub(crate) screen: Size,
    /// When something was last done to the screen; none when nothing was since the last wait.
    pub(crate) acted: Option<Instant>,
    /// Processes that draw on the screen, or will.
    pub(crate) programs: &'a [u32],
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
        let programs = self.programs(connection, wait.programs).await?;
        self.work.begin(&programs, start);
        let since = match (wait.acted, self.last_change) {
            (Some(acted), _) => Since::Acted(acted.min(start)),
            (None, Some(changed)) => Since::Changed(changed),
            (None, None) => Since::Acted(start),
        };
        let known = std::mem::take(&mut self.restless);
        let mut stillness = Stillness::new(start, since, wait.settle, wait.screen, known);
        loop {
            connection.drain()?;
            if connection.take_damaged() {
                let changed = self.take(connection).await?;
                stillness.changed(Instant::now(), &changed);
            }
            let now = Instant::now();
            match stillness.next(now) {
                Next::Done { settled, restless } => {
                    self.last_change = Some(stillness.last_change());
                    self.restless = stillness.restless(now);
                    return Ok(Settled {
                        settled,
                        waited: now - start,
                        restless: restless.and_then(|area| ScreenRegion::seen(wait.screen, area)),
                    });
                }
                Next::Look => stillness.looked(now, self.work.is_busy(&programs, now)),
                // Either a change wakes us, or the moment when something is to be decided.
                Next::Wait(until) => {
                    if let Ok(event) = timeout_at(until, connection.next_event()).await {
                        event?;
                    }
                }
            }
        }
    }

    /// Notes a change that was seen outside of a wait. Has the server report the next one.
    pub(crate) async fn note(&mut self, connection: &Connection) -> Result<(), XError> {
        self.take(connection).await?;
        self.last_change = Some(Instant::now());
        Ok(())
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

    /// The processes that draw: those named, and all whose connection is from this machine.
    /// Its answer comes after every change that was made so far.
    async fn programs(&self, connection: &Connection, named: &[u32]) -> Result<Vec<u32>, XError> {
        let mut programs: HashSet<u32> = named.iter().copied().collect();
        if !self.knows_clients {
            connection.sync().await?;
            return Ok(programs.into_iter().collect());
        }
        let all = ClientIdSpec {
            client: 0,
            mask: ClientIdMask::LOCAL_CLIENT_PID,
        };
        let clients = connection.x().res_query_client_ids(&[all])?;
        let clients = connection.reply(clients).await?;
        programs.extend(clients.ids.iter().flat_map(|id| id.value.first().copied()));
        Ok(programs.into_iter().collect())
    }
}

fn area(rectangle: &x11rb::protocol::xproto::Rectangle) -> Area {
    let (left, top) = (i32::from(rectangle.x), i32::from(rectangle.y));
    let (width, height) = (i32::from(rectangle.width), i32::from(rectangle.height));
    [left, top, left + width, top + height]
}
