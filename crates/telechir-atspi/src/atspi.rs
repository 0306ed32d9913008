//! The applications of a desktop and the refs of their elements.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::Value;
use telechir_device::{
    Accessibility, ActionReport, Detail, DeviceError, Element, ElementState, ElementTree,
    LocatedElement, Window,
};
use zbus::OwnedObjectPath;

use crate::app::{self, AccessibleNode, ApplicationElements, cells};
use crate::bus::{AtSpiBus, BusRoute, BusSocket, within};
use crate::element::ElementHandle;
use crate::error::{BusError, stale};
use crate::object::{ACCESSIBLE, ObjectRef, ROOT};
use crate::refs::{ElementRefs, RefTarget};
use crate::{actions, placement, role, set_value, titles};

/// Bus name of the registry of applications.
const REGISTRY: &str = "org.a11y.atspi.Registry";
/// Maximum wait for the first reply of an application; shorter if it did not reply last time.
const FIRST_REPLY_TIMEOUT: Duration = Duration::from_secs(1);
const TIMEOUT_AFTER_SILENCE: Duration = Duration::from_millis(100);
/// Maximum wait for the list of applications; the registry is slow only on a busy machine.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of elements in a tree.
const MAX_ELEMENTS: usize = 20_000;

/// The accessibility tree of one desktop. Connects on first use and reconnects after the bus is
/// lost.
#[derive(Debug)]
pub struct AtSpi {
    routes: Vec<BusRoute>,
    bus: Option<AtSpiBus>,
    refs: ElementRefs,
    /// Applications that did not reply last time, by bus name.
    silent: HashMap<String, String>,
    /// Titles of windows that their applications call otherwise, by those names.
    titles: HashMap<String, String>,
}

impl AtSpi {
    /// The desktop with this session bus, on which accessibility is enabled.
    pub fn new(session: BusSocket) -> Self {
        Self::with_routes(vec![BusRoute::Session(session)])
    }

    /// An existing desktop: `own` is the accessibility bus named by its display and takes
    /// precedence over the one found through `session`. `None` if both are absent.
    pub fn of_existing(own: Option<BusSocket>, session: Option<BusSocket>) -> Option<Self> {
        let own = own.into_iter().map(BusRoute::Direct);
        let routes: Vec<BusRoute> = own.chain(session.map(BusRoute::Session)).collect();
        (!routes.is_empty()).then(|| Self::with_routes(routes))
    }

    fn with_routes(routes: Vec<BusRoute>) -> Self {
        Self {
            routes,
            bus: None,
            refs: ElementRefs::default(),
            silent: HashMap::new(),
            titles: HashMap::new(),
        }
    }

    /// Number of applications that expose elements.
    ///
    /// # Errors
    /// When there is no bus, or it does not reply.
    pub async fn count(&mut self) -> Result<usize, DeviceError> {
        let bus = self.bus().await?;
        let roots = within("the accessibility bus", LIST_TIMEOUT, applications(&bus)).await?;
        Ok(roots.len())
    }

    async fn bus(&mut self) -> Result<AtSpiBus, BusError> {
        if let Some(bus) = self.bus.as_ref().filter(|bus| !bus.is_gone()) {
            return Ok(bus.clone());
        }
        let bus = AtSpiBus::find(&self.routes).await?;
        // A new bus assigns new names, so an old name could refer to another application.
        self.refs.retain(|_| false);
        self.silent.clear();
        self.bus = Some(bus.clone());
        Ok(bus)
    }

    async fn read(&mut self, detail: Detail, windows: &[Window]) -> Result<ElementTree, BusError> {
        let bus = self.bus().await?;
        let roots = within("the accessibility bus", LIST_TIMEOUT, applications(&bus)).await?;
        let reads = roots.iter().map(|root| {
            let was_silent = self.silent.contains_key(&root.bus);
            let timeout = if was_silent {
                TIMEOUT_AFTER_SILENCE
            } else {
                FIRST_REPLY_TIMEOUT
            };
            app::read(&bus, root, (detail, windows), timeout, &self.refs)
        });
        let answers = join_all(reads.collect::<Vec<_>>()).await;

        self.refs
            .retain(|name| roots.iter().any(|root| root.bus == name));
        self.silent
            .retain(|name, _| roots.iter().any(|root| root.bus == *name));
        let mut tree = ElementTree::default();
        for (root, answer) in roots.iter().zip(answers) {
            match answer {
                Ok(application) => self.add(&mut tree, root, application),
                Err(BusError::TimedOut { .. }) => {
                    let name = format!("An application ({})", root.bus);
                    let name = self.silent.entry(root.bus.clone()).or_insert(name);
                    tree.unresponsive.push(name.clone());
                    continue;
                }
                // The application exited meanwhile.
                Err(error) => tracing::debug!(%error, "an application could not be read"),
            }
            self.silent.remove(&root.bus);
        }
        self.titles = titles::rename(&mut tree, windows);
        Ok(tree)
    }

    fn add(&mut self, tree: &mut ElementTree, root: &ObjectRef, application: ApplicationElements) {
        tree.omitted += application.left_off;
        let mut window: Option<String> = None;
        // Of many cells few have content; they have the short refs.
        if application.nodes.iter().any(|node| node.is_empty_cell) {
            for node in application.nodes.iter().filter(|node| !node.is_empty_cell) {
                self.refs.reserve(&node.object, node.cell.as_ref());
            }
        }
        // The root and the ancestors of the next element.
        let mut holders = vec![root.clone()];
        for node in application.nodes {
            if tree.elements.len() >= MAX_ELEMENTS {
                tree.omitted += 1;
                continue;
            }
            if node.depth == 0 {
                window = application.counts_from_window.then(|| node.name.clone());
            }
            holders.truncate(node.depth + 1);
            let parent = holders.last().cloned();
            holders.push(node.object.clone());
            let element = self.element_of(node, parent, window.clone());
            tree.elements.push(element);
        }
    }

    fn element_of(
        &mut self,
        node: AccessibleNode,
        parent: Option<ObjectRef>,
        counts_from: Option<String>,
    ) -> Element {
        let role = role::name(node.role);
        let mut states = node.bits.meaning(node.role);
        if node.is_empty_cell {
            states.add(ElementState::Empty);
        }
        if node.cell.is_some() {
            states.add(ElementState::Managed);
        }
        let target = RefTarget {
            object: node.object,
            role: node.role,
            parent,
            cell: node.cell,
            shift: node.shift,
            abilities: node.abilities,
            counts_from,
        };
        Element {
            id: self.refs.name(target),
            depth: node.depth,
            states,
            role,
            name: node.name,
            value: node.value,
            automation_id: node.automation_id,
            bounds: node.bounds,
            actions: node.actions,
        }
    }

    /// A handle to the element of a ref, if it still exists.
    async fn handle(&mut self, id: &str) -> Result<ElementHandle, DeviceError> {
        Ok(self.placed(id).await?.0)
    }

    /// The same, and the title of its window; empty if it has none.
    async fn placed(&mut self, id: &str) -> Result<(ElementHandle, String), DeviceError> {
        let bus = self.bus().await?;
        let mut target = self.refs.find(id).cloned().ok_or_else(|| stale(id))?;
        if let Some(cell) = &target.cell {
            target.object = cells::at(&bus, cell).await?.ok_or_else(|| stale(id))?;
        }
        let element = ElementHandle::new(bus, target, id);
        let window = placement::window_of(&element, &self.refs).await?;
        Ok((element, window))
    }
}

/// The roots of all applications.
async fn applications(bus: &AtSpiBus) -> Result<Vec<ObjectRef>, BusError> {
    let registry = ObjectRef {
        bus: REGISTRY.to_owned(),
        path: OwnedObjectPath::try_from(ROOT)
            .map_err(|error| BusError::Malformed(error.to_string()))?,
    };
    let mut roots: Vec<ObjectRef> = bus.get(&registry, ACCESSIBLE, "GetChildren", &()).await?;
    roots.retain(|root| !root.is_null());
    Ok(roots)
}

#[async_trait]
impl Accessibility for AtSpi {
    async fn tree(
        &mut self,
        detail: Detail,
        windows: &[Window],
    ) -> Result<ElementTree, DeviceError> {
        Ok(self.read(detail, windows).await?)
    }

    async fn element(
        &mut self,
        id: &str,
        windows: &[Window],
    ) -> Result<LocatedElement, DeviceError> {
        let (element, window) = self.placed(id).await?;
        let node = element.node(windows).await?;
        let window = self.titles.get(&window).cloned().unwrap_or(window);
        let RefTarget {
            parent,
            counts_from,
            ..
        } = element.target().clone();
        Ok(LocatedElement {
            element: self.element_of(node, parent, counts_from),
            window,
        })
    }

    async fn invoke(&mut self, id: &str, name: Option<&str>) -> Result<ActionReport, DeviceError> {
        let element = self.handle(id).await?;
        actions::invoke(&element, name).await
    }

    async fn set(&mut self, id: &str, value: &Value) -> Result<Option<ActionReport>, DeviceError> {
        let element = self.handle(id).await?;
        set_value::set(&element, value).await
    }

    async fn reveal(&mut self, id: &str) -> Result<(), DeviceError> {
        let element = self.handle(id).await?;
        actions::reveal(&element).await
    }
}
