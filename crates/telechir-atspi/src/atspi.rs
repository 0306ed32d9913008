//! The applications of a desktop, and the refs of their elements.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use telechir_device::{
    Accessibility, ActionReport, Detail, DeviceError, Element, Located, Tree, Window,
};
use zbus::OwnedObjectPath;

use crate::app::{self, Node, Shown};
use crate::bus::{Bus, BusSocket, Way, within};
use crate::element::Watched;
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Object, ROOT};
use crate::refs::{Known, Refs};
use crate::{actions, role, set_value};

/// Where applications say that they are there.
const REGISTRY: &str = "org.a11y.atspi.Registry";
/// An application gets so long for its first answer, and one that was silent the last time less.
const PATIENCE: Duration = Duration::from_secs(1);
const LITTLE_PATIENCE: Duration = Duration::from_millis(100);
/// For the list of applications, by who is never busy but on a busy machine.
const LIST: Duration = Duration::from_secs(3);
/// Elements of a tree at most.
const MOST: usize = 20_000;

/// What the applications of one desktop say of themselves. Connects when it is first asked, and
/// again when the bus went away.
#[derive(Debug)]
pub struct AtSpi {
    ways: Vec<Way>,
    bus: Option<Bus>,
    refs: Refs,
    /// Who did not answer the last time, by the name on the bus.
    silent: HashMap<String, String>,
}

impl AtSpi {
    /// Of the desktop with this session bus, on which accessibility was switched on.
    pub fn new(session: BusSocket) -> Self {
        Self::by(vec![Way::Session(session)])
    }

    /// Of a desktop that was there before: `own` is the accessibility bus that its display names,
    /// and comes before what `session` names. None when there is neither.
    pub fn of_existing(own: Option<BusSocket>, session: Option<BusSocket>) -> Option<Self> {
        let own = own.into_iter().map(Way::Here);
        let ways: Vec<Way> = own.chain(session.map(Way::Session)).collect();
        (!ways.is_empty()).then(|| Self::by(ways))
    }

    fn by(ways: Vec<Way>) -> Self {
        Self {
            ways,
            bus: None,
            refs: Refs::default(),
            silent: HashMap::new(),
        }
    }

    /// How many applications say what they show.
    ///
    /// # Errors
    /// When there is no bus, or it does not answer.
    pub async fn count(&mut self) -> Result<usize, DeviceError> {
        let bus = self.bus().await?;
        let roots = within("the accessibility bus", LIST, applications(&bus)).await?;
        Ok(roots.len())
    }

    async fn bus(&mut self) -> Result<Bus, BusError> {
        if let Some(bus) = self.bus.as_ref().filter(|bus| !bus.is_gone()) {
            return Ok(bus.clone());
        }
        let bus = Bus::find(&self.ways).await?;
        // Names on a new bus are given anew, so an old one could be another application's.
        self.refs.keep(|_| false);
        self.silent.clear();
        self.bus = Some(bus.clone());
        Ok(bus)
    }

    async fn read(&mut self, detail: Detail, windows: &[Window]) -> Result<Tree, BusError> {
        let bus = self.bus().await?;
        let roots = within("the accessibility bus", LIST, applications(&bus)).await?;
        let reads = roots.iter().map(|root| {
            let was_silent = self.silent.contains_key(&root.bus);
            let patience = if was_silent {
                LITTLE_PATIENCE
            } else {
                PATIENCE
            };
            app::read(&bus, root, (detail, windows), patience, &self.refs)
        });
        let answers = join_all(reads.collect::<Vec<_>>()).await;

        self.refs
            .keep(|name| roots.iter().any(|root| root.bus == name));
        self.silent
            .retain(|name, _| roots.iter().any(|root| root.bus == *name));
        let mut tree = Tree::default();
        for (root, answer) in roots.iter().zip(answers) {
            match answer {
                Ok(shown) => self.add(&mut tree, shown),
                Err(BusError::Late { .. }) => {
                    let name = format!("An application ({})", root.bus);
                    let name = self.silent.entry(root.bus.clone()).or_insert(name);
                    tree.silent.push(name.clone());
                    continue;
                }
                // It ended meanwhile.
                Err(error) => tracing::debug!(%error, "an application could not be read"),
            }
            self.silent.remove(&root.bus);
        }
        Ok(tree)
    }

    fn add(&mut self, tree: &mut Tree, shown: Shown) {
        tree.left_off += shown.left_off;
        let mut window: Option<String> = None;
        for node in shown.nodes {
            if tree.elements.len() >= MOST {
                tree.left_off += 1;
                continue;
            }
            if node.depth == 0 {
                window = shown.counts_from_window.then(|| node.name.clone());
            }
            let element = self.element_of(node, window.clone());
            tree.elements.push(element);
        }
    }

    fn element_of(&mut self, node: Node, counts_from: Option<String>) -> Element {
        let role = role::name(node.role);
        let states = node.bits.meaning(node.role);
        let known = Known {
            object: node.object,
            role: node.role,
            abilities: node.abilities,
            counts_from,
        };
        Element {
            id: self.refs.name(known),
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

    /// What a ref stands for, if that is still there.
    async fn watched(&mut self, id: &str) -> Result<Watched, DeviceError> {
        let bus = self.bus().await?;
        let known = self.refs.find(id).cloned().ok_or_else(|| stale(id))?;
        let watched = Watched::new(bus, known, id);
        watched.window().await?;
        Ok(watched)
    }
}

pub(crate) fn stale(id: &str) -> DeviceError {
    DeviceError::Stale {
        target: id.to_owned(),
    }
}

/// The roots of all applications.
async fn applications(bus: &Bus) -> Result<Vec<Object>, BusError> {
    let registry = Object {
        bus: REGISTRY.to_owned(),
        path: OwnedObjectPath::try_from(ROOT)
            .map_err(|error| BusError::Garbled(error.to_string()))?,
    };
    let mut roots: Vec<Object> = bus.get(&registry, ACCESSIBLE, "GetChildren", &()).await?;
    roots.retain(|root| !root.is_null());
    Ok(roots)
}

impl Accessibility for AtSpi {
    async fn tree(&mut self, detail: Detail, windows: &[Window]) -> Result<Tree, DeviceError> {
        Ok(self.read(detail, windows).await?)
    }

    async fn element(&mut self, id: &str, windows: &[Window]) -> Result<Located, DeviceError> {
        let watched = self.watched(id).await?;
        let (node, window) = tokio::try_join!(watched.node(windows), watched.window())?;
        let counts_from = watched.known().counts_from.clone();
        Ok(Located {
            element: self.element_of(node, counts_from),
            window,
        })
    }

    async fn invoke(&mut self, id: &str, name: Option<&str>) -> Result<ActionReport, DeviceError> {
        let watched = self.watched(id).await?;
        actions::invoke(&watched, name).await
    }

    async fn set(&mut self, id: &str, value: &Value) -> Result<Option<ActionReport>, DeviceError> {
        let watched = self.watched(id).await?;
        set_value::set(&watched, value).await
    }

    async fn reveal(&mut self, id: &str) -> Result<(), DeviceError> {
        let watched = self.watched(id).await?;
        actions::reveal(&watched).await
    }
}
