//! One element that is acted on: how it is now, and whether it becomes what was asked for.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Serialize;
use telechir_device::{Bounds, DeviceError, State, States, Window};
use zbus::wire::DynamicDeserialize;
use zbus::{DynamicType, OwnedVariant};

use crate::app::{Node, bounds_of, corner, each_extent, holds_number, holds_text, readable};
use crate::atspi::stale;
use crate::bus::{Bus, within};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, Object, PROPERTIES, ROOT, TEXT, VALUE};
use crate::refs::Known;
use crate::role;
use crate::state::{Bits, DEFUNCT, SHOWING, VISIBLE};

/// For one answer of an application.
const ANSWER: Duration = Duration::from_secs(1);
/// How long an element may take to become what was asked for. Not all toolkits announce
/// changes, so it is asked, less and less often.
const CHANGE: Duration = Duration::from_millis(500);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Deeper than this is a circle.
const DEEPEST: usize = 200;

/// An element and the bus to its application.
#[derive(Debug)]
pub(crate) struct Watched {
    bus: Bus,
    known: Known,
    id: String,
}

/// How an element is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) role: Cow<'static, str>,
    pub(crate) states: States,
    bits: Bits,
}

impl Look {
    pub(crate) const fn has(&self, state: State) -> bool {
        self.states.has(state)
    }

    /// Whether it says that it is on the screen; GTK 4 never does.
    pub(crate) const fn is_showing(&self) -> bool {
        self.bits.has(SHOWING)
    }
}

impl Watched {
    pub(crate) fn new(bus: Bus, known: Known, id: &str) -> Self {
        Self {
            bus,
            known,
            id: id.to_owned(),
        }
    }

    pub(crate) const fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Asks it something; that the application does not answer is an error of its own.
    pub(crate) async fn ask<T, B>(
        &self,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<T, BusError>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType,
    {
        let asked = self.bus.get(&self.known.object, interface, method, body);
        within("an application", ANSWER, asked).await
    }

    /// How it is now.
    pub(crate) async fn look(&self) -> Result<Look, DeviceError> {
        let answers = async {
            tokio::try_join!(
                self.ask::<u32, _>(ACCESSIBLE, "GetRole", &()),
                self.ask::<Vec<u32>, _>(ACCESSIBLE, "GetState", &()),
            )
        };
        let (role, states) = match answers.await {
            Ok(answers) => answers,
            Err(BusError::Refused(_) | BusError::Garbled(_)) => return Err(stale(&self.id)),
            Err(error) => return Err(error.into()),
        };
        let bits = Bits::of(&states);
        if bits.has(DEFUNCT) || role != self.known.role {
            return Err(stale(&self.id));
        }
        Ok(Look {
            states: bits.meaning(role),
            role: role::name(role),
            bits,
        })
    }

    /// The title of the window it is in. An object may outlive its window: what no window of its
    /// application holds any more is gone.
    pub(crate) async fn window(&self) -> Result<String, DeviceError> {
        let mut at = self.known.object.clone();
        for _ in 0..DEEPEST {
            let asked = self
                .bus
                .get(&at, PROPERTIES, "Get", &(ACCESSIBLE, "Parent"));
            let parent: OwnedVariant = match within("an application", ANSWER, asked).await {
                Ok(parent) => parent,
                Err(BusError::Refused(_)) => return Err(stale(&self.id)),
                Err(error) => return Err(error.into()),
            };
            let parent = Object::of(&parent).ok_or_else(|| stale(&self.id))?;
            if parent.path.as_str() != ROOT {
                at = parent;
                continue;
            }
            let windows = self.bus.get(&parent, ACCESSIBLE, "GetChildren", &());
            let windows: Vec<Object> = within("an application", ANSWER, windows).await?;
            if !windows.contains(&at) {
                return Err(stale(&self.id));
            }
            let name = self.bus.property::<String>(&at, ACCESSIBLE, "Name");
            return Ok(within("an application", ANSWER, name).await?);
        }
        Err(stale(&self.id))
    }

    pub(crate) async fn abilities(&self) -> Result<Abilities, BusError> {
        let names: Vec<String> = self.ask(ACCESSIBLE, "GetInterfaces", &()).await?;
        Ok(Abilities::of(&names))
    }

    /// Everything about it.
    pub(crate) async fn node(&self, windows: &[Window]) -> Result<Node, DeviceError> {
        let look = self.look().await?;
        let object = &self.known.object;
        let (name, abilities) = tokio::try_join!(
            within(
                "an application",
                ANSWER,
                self.bus.property::<String>(object, ACCESSIBLE, "Name")
            ),
            self.abilities()
        )?;
        let mut node = Node::bare(object.clone(), self.known.role, look.bits);
        (node.name, node.abilities) = (name, abilities);
        node.bounds = self.bounds(look.bits, windows).await?;
        if holds_text(&node) {
            node.value = self.text().await.ok();
        } else if holds_number(&node) {
            let number = self.bus.property::<f64>(object, VALUE, "CurrentValue");
            let number = within("an application", ANSWER, number).await;
            node.value = number.ok().map(|number| number.to_string());
        }
        Ok(node)
    }

    async fn bounds(&self, bits: Bits, windows: &[Window]) -> Result<Option<Bounds>, BusError> {
        let counts_from = self.known.counts_from.as_deref();
        let shown = if counts_from.is_some() {
            VISIBLE
        } else {
            SHOWING
        };
        if !bits.has(shown) {
            return Ok(None);
        }
        let from = u32::from(counts_from.is_some());
        let extents = async { Ok(each_extent(&self.bus, [&self.known.object], from).await) };
        let extents = within("an application", ANSWER, extents).await?;
        let corner = match counts_from {
            None => Some((0, 0)),
            Some(title) => corner(windows, title, None),
        };
        let extent = extents.into_iter().next().flatten();
        Ok(extent
            .zip(corner)
            .and_then(|(extent, corner)| bounds_of(extent, corner)))
    }

    /// The whole text it holds.
    pub(crate) async fn text(&self) -> Result<String, BusError> {
        let text: String = self.ask(TEXT, "GetText", &(0i32, -1i32)).await?;
        Ok(readable(&text))
    }

    /// Whether it is seen to become so within a moment.
    pub(crate) async fn becomes(
        &self,
        wanted: impl Fn(&Look) -> bool,
    ) -> Result<bool, DeviceError> {
        let mut patience = Patience::new();
        loop {
            if wanted(&self.look().await?) {
                return Ok(true);
            }
            if !patience.is_left().await {
                return Ok(false);
            }
        }
    }
}

/// The time an element gets to become what was asked for: it is asked again and again, less and
/// less often.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self {
            until: Instant::now() + CHANGE,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits a little; false when the time is over.
    pub(crate) async fn is_left(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
