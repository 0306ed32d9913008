//! A handle to one element: its current fields, and waiting for a change.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Serialize;
use telechir_device::{DeviceError, ElementState, ElementStates, ScreenBounds, Window};
use zbus::DynamicType;
use zbus::wire::DynamicDeserialize;

use crate::app::{
    AccessibleNode, bounds_of, corner, each_extent, holds_number, holds_text, part_names, readable,
};
use crate::bus::{AtSpiBus, REPLY_TIMEOUT, within};
use crate::error::{BusError, stale};
use crate::object::{ACCESSIBLE, Abilities, TEXT, VALUE};
use crate::refs::RefTarget;
use crate::role;
use crate::state::{Bits, DEFUNCT, SHOWING, VISIBLE};

/// Maximum wait for an element to change. Not all toolkits announce changes, so it is polled at
/// growing intervals.
const CHANGE_TIMEOUT: Duration = Duration::from_millis(500);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// An element and the bus to its application.
#[derive(Debug)]
pub(crate) struct ElementHandle {
    bus: AtSpiBus,
    target: RefTarget,
    id: String,
}

/// Role and states of an element at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElementFields {
    pub(crate) role: Cow<'static, str>,
    pub(crate) states: ElementStates,
    bits: Bits,
}

impl ElementFields {
    pub(crate) const fn has(&self, state: ElementState) -> bool {
        self.states.has(state)
    }

    /// Whether it reports itself on the screen; GTK 4 elements never do.
    pub(crate) const fn is_showing(&self) -> bool {
        self.bits.has(SHOWING)
    }
}

impl ElementHandle {
    pub(crate) fn new(bus: AtSpiBus, target: RefTarget, id: &str) -> Self {
        Self {
            bus,
            target,
            id: id.to_owned(),
        }
    }

    pub(crate) const fn target(&self) -> &RefTarget {
        &self.target
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) const fn bus(&self) -> &AtSpiBus {
        &self.bus
    }

    /// Calls a method of the element. A missing reply is a separate error.
    pub(crate) async fn call<T, B>(
        &self,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<T, BusError>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType,
    {
        let requested = self.bus.get(&self.target.object, interface, method, body);
        within("an application", REPLY_TIMEOUT, requested).await
    }

    /// Reads the current role and states.
    pub(crate) async fn fields(&self) -> Result<ElementFields, DeviceError> {
        let answers = async {
            tokio::try_join!(
                self.call::<u32, _>(ACCESSIBLE, "GetRole", &()),
                self.call::<Vec<u32>, _>(ACCESSIBLE, "GetState", &()),
            )
        };
        let (role, states) = match answers.await {
            Ok(answers) => answers,
            Err(BusError::Refused(_) | BusError::Malformed(_)) => return Err(stale(&self.id)),
            Err(error) => return Err(error.into()),
        };
        let bits = Bits::of(&states);
        if bits.has(DEFUNCT) || role != self.target.role {
            return Err(stale(&self.id));
        }
        Ok(ElementFields {
            states: bits.meaning(role),
            role: role::name(role),
            bits,
        })
    }

    pub(crate) async fn abilities(&self) -> Result<Abilities, BusError> {
        let names: Vec<String> = self.call(ACCESSIBLE, "GetInterfaces", &()).await?;
        Ok(Abilities::of(&names))
    }

    /// Reads all details of the element.
    pub(crate) async fn node(&self, windows: &[Window]) -> Result<AccessibleNode, DeviceError> {
        let fields = self.fields().await?;
        let object = &self.target.object;
        let (name, abilities) = tokio::try_join!(
            within(
                "an application",
                REPLY_TIMEOUT,
                self.bus.property::<String>(object, ACCESSIBLE, "Name")
            ),
            self.abilities()
        )?;
        let mut node = AccessibleNode::bare(object.clone(), self.target.role, fields.bits);
        (node.name, node.abilities) = (name, abilities);
        (node.cell, node.shift) = (self.target.cell.clone(), self.target.shift);
        node.bounds = self.bounds(fields.bits, windows).await?;
        if node.cell.is_some() && node.name.is_empty() && !node.abilities.has(Abilities::TEXT) {
            let parts = async { Ok(part_names(&self.bus, &[object]).await) };
            let parts = within("an application", REPLY_TIMEOUT, parts).await?;
            node.name = parts.join(" ");
        }
        if holds_text(&node) || (node.cell.is_some() && node.abilities.has(Abilities::TEXT)) {
            node.value = self.text().await.ok();
            if node.cell.is_some() && node.value.as_ref().is_some_and(String::is_empty) {
                (node.value, node.is_empty_cell) = (None, true);
            }
        } else if holds_number(&node) {
            let number = self.bus.property::<f64>(object, VALUE, "CurrentValue");
            let number = within("an application", REPLY_TIMEOUT, number).await;
            node.value = number.ok().map(|number| number.to_string());
        }
        Ok(node)
    }

    async fn bounds(
        &self,
        bits: Bits,
        windows: &[Window],
    ) -> Result<Option<ScreenBounds>, BusError> {
        let counts_from = self.target.counts_from.as_deref();
        let shown = if counts_from.is_some() {
            VISIBLE
        } else {
            SHOWING
        };
        if !bits.has(shown) {
            return Ok(None);
        }
        let from = u32::from(counts_from.is_some());
        let extents = async { Ok(each_extent(&self.bus, [&self.target.object], from).await) };
        let extents = within("an application", REPLY_TIMEOUT, extents).await?;
        let corner = match counts_from {
            None => Some(self.target.shift),
            Some(title) => corner(windows, title, None),
        };
        let extent = extents.into_iter().next().flatten();
        Ok(extent
            .zip(corner)
            .and_then(|(extent, corner)| bounds_of(extent, corner)))
    }

    /// Reads its complete text.
    pub(crate) async fn text(&self) -> Result<String, BusError> {
        let text: String = self.call(TEXT, "GetText", &(0i32, -1i32)).await?;
        Ok(readable(&text))
    }

    /// Waits until the fields match; false on timeout.
    pub(crate) async fn wait_until(
        &self,
        wanted: impl Fn(&ElementFields) -> bool,
    ) -> Result<bool, DeviceError> {
        let mut timeout = ChangeTimeout::new();
        loop {
            if wanted(&self.fields().await?) {
                return Ok(true);
            }
            if !timeout.wait_retry().await {
                return Ok(false);
            }
        }
    }
}

/// The polling schedule while waiting for a change, with growing intervals.
#[derive(Debug)]
pub(crate) struct ChangeTimeout {
    until: Instant,
    pause: Duration,
}

impl ChangeTimeout {
    pub(crate) fn new() -> Self {
        Self {
            until: Instant::now() + CHANGE_TIMEOUT,
            pause: FIRST_PAUSE,
        }
    }

    /// Sleeps for one interval; false after the timeout.
    pub(crate) async fn wait_retry(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}
