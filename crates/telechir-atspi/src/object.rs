//! Object references, interface names and cache items of AT-SPI.

use serde::Deserialize;
use zbus::{OwnedObjectPath, Type, Variant};

pub(crate) const ACCESSIBLE: &str = "org.a11y.atspi.Accessible";
pub(crate) const ACTION: &str = "org.a11y.atspi.Action";
pub(crate) const CACHE: &str = "org.a11y.atspi.Cache";
pub(crate) const COLLECTION: &str = "org.a11y.atspi.Collection";
pub(crate) const COMPONENT: &str = "org.a11y.atspi.Component";
pub(crate) const EDITABLE_TEXT: &str = "org.a11y.atspi.EditableText";
pub(crate) const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
pub(crate) const SELECTION: &str = "org.a11y.atspi.Selection";
pub(crate) const TABLE: &str = "org.a11y.atspi.Table";
pub(crate) const TEXT: &str = "org.a11y.atspi.Text";
pub(crate) const VALUE: &str = "org.a11y.atspi.Value";
pub(crate) const APPLICATION: &str = "org.a11y.atspi.Application";

/// Object path of the root in every application.
pub(crate) const ROOT: &str = "/org/a11y/atspi/accessible/root";
/// Object path that means "no object".
const NULL: &str = "/org/a11y/atspi/null";

/// A reference to an accessible object: bus name of the application and object path.
#[derive(Clone, Debug, Deserialize, Type, PartialEq, Eq, Hash)]
pub(crate) struct ObjectRef {
    pub(crate) bus: String,
    pub(crate) path: OwnedObjectPath,
}

impl ObjectRef {
    /// Reads a reference from a property value; `None` for the null object.
    pub(crate) fn of(value: &Variant<'_>) -> Option<Self> {
        let Variant::Structure(structure) = value else {
            return None;
        };
        let [Variant::Str(bus), Variant::ObjectPath(path)] = structure.fields() else {
            return None;
        };
        let object = Self {
            bus: bus.to_string(),
            path: path.clone().into(),
        };
        (!object.is_null()).then_some(object)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.path.as_str() == NULL || self.bus.is_empty()
    }
}

/// Row and column of a cell, from 0, in a table that makes a new object for each request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CellIndex {
    pub(crate) table: ObjectRef,
    pub(crate) row: i32,
    pub(crate) column: i32,
}

/// The interfaces of an object that this crate uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abilities(u8);

impl Abilities {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ACTION: u8 = 1;
    pub(crate) const COMPONENT: u8 = 1 << 1;
    pub(crate) const EDITABLE_TEXT: u8 = 1 << 2;
    pub(crate) const SELECTION: u8 = 1 << 3;
    pub(crate) const TEXT: u8 = 1 << 4;
    pub(crate) const VALUE: u8 = 1 << 5;
    pub(crate) const TABLE: u8 = 1 << 6;

    pub(crate) fn of(interfaces: &[String]) -> Self {
        let bit = |name: &String| match name.as_str() {
            ACTION => Self::ACTION,
            COMPONENT => Self::COMPONENT,
            EDITABLE_TEXT => Self::EDITABLE_TEXT,
            SELECTION => Self::SELECTION,
            TABLE => Self::TABLE,
            TEXT => Self::TEXT,
            VALUE => Self::VALUE,
            _ => 0,
        };
        Self(interfaces.iter().map(bit).fold(0, |all, one| all | one))
    }

    pub(crate) const fn has(self, ability: u8) -> bool {
        self.0 & ability != 0
    }
}

/// One item in the reply of `Cache.GetItems`.
#[derive(Debug, Deserialize, Type)]
pub(crate) struct CacheItem {
    pub(crate) object: ObjectRef,
    pub(crate) _application: ObjectRef,
    pub(crate) parent: ObjectRef,
    pub(crate) index: i32,
    pub(crate) children: i32,
    pub(crate) interfaces: Vec<String>,
    pub(crate) name: String,
    pub(crate) role: u32,
    pub(crate) _description: String,
    pub(crate) states: Vec<u32>,
}
