//! One element as its application describes it.

use telechir_device::ScreenBounds;

use crate::object::{Abilities, CellIndex, ObjectRef};
use crate::state::Bits;

/// An element as described by its application.
#[derive(Debug)]
pub(crate) struct AccessibleNode {
    pub(crate) object: ObjectRef,
    pub(super) parent: Option<ObjectRef>,
    pub(super) index: i32,
    /// Number of children that it reports; absent if unknown.
    pub(super) children: Option<usize>,
    pub(crate) abilities: Abilities,
    pub(crate) name: String,
    pub(crate) role: u32,
    pub(crate) bits: Bits,
    pub(crate) depth: usize,
    pub(crate) bounds: Option<ScreenBounds>,
    /// What the reported bounds lacked to be those on the screen.
    pub(crate) shift: (i32, i32),
    pub(crate) cell: Option<CellIndex>,
    pub(crate) is_empty_cell: bool,
    /// Whether it is in a menu bar that the program has but never draws.
    pub(super) is_in_undrawn_bar: bool,
    pub(crate) value: Option<String>,
    pub(crate) automation_id: Option<String>,
    pub(crate) actions: Vec<String>,
}

impl AccessibleNode {
    /// An element with only its object, role and states.
    pub(crate) const fn bare(object: ObjectRef, role: u32, bits: Bits) -> Self {
        Self {
            object,
            parent: None,
            index: 0,
            children: None,
            abilities: Abilities::NONE,
            name: String::new(),
            role,
            bits,
            depth: 0,
            bounds: None,
            shift: (0, 0),
            cell: None,
            is_empty_cell: false,
            is_in_undrawn_bar: false,
            value: None,
            automation_id: None,
            actions: Vec::new(),
        }
    }
}
