//! States of elements: checked, expanded, focused.

use std::fmt;

macro_rules! states {
    ($($(#[$doc:meta])* $state:ident = $name:literal,)*) => {
        /// One possible state of an element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ElementState {
            $($(#[$doc])* $state,)*
        }

        impl ElementState {
            /// All states, in the order of their names in descriptions.
            pub const ALL: &'static [Self] = &[$(Self::$state,)*];

            /// The name in descriptions.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$state => $name,)*
                }
            }
        }
    };
}

states! {
    /// The window with the keyboard focus.
    Active = "active",
    /// The element with the keyboard focus.
    Focused = "focused",
    /// It can get the keyboard focus.
    Focusable = "focusable",
    /// It can be on or off.
    Checkable = "checkable",
    /// It is on.
    Checked = "checked",
    /// It is neither on nor off.
    Mixed = "mixed",
    /// A toggle button is pressed.
    Pressed = "pressed",
    /// It can be expanded.
    Expandable = "expandable",
    /// It is expanded.
    Expanded = "expanded",
    /// It can be selected among others.
    Selectable = "selectable",
    /// It is selected.
    Selected = "selected",
    /// Its text can be edited.
    Editable = "editable",
    /// It cannot be edited now.
    ReadOnly = "readonly",
    /// It does not react to input.
    Disabled = "disabled",
    /// It must be filled in.
    Required = "required",
    /// Its value is invalid.
    Invalid = "invalid",
    /// It is still loading.
    Busy = "busy",
    /// It blocks all other windows of its program.
    Modal = "modal",
    /// A cell of a spreadsheet without content.
    Empty = "empty",
    /// A cell of a table that manages its descendants, such as a spreadsheet: what is typed into it
    /// replaces its content.
    Managed = "managed",
}

/// A set of states.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ElementStates(u32);

impl ElementStates {
    /// Creates a set of these states.
    pub fn of(states: &[ElementState]) -> Self {
        let mut all = Self::default();
        states.iter().for_each(|state| all.add(*state));
        all
    }

    /// Adds a state; has no effect if the set contains it.
    pub const fn add(&mut self, state: ElementState) {
        self.0 |= 1 << state as u32;
    }

    /// Whether the set contains a state.
    pub const fn has(self, state: ElementState) -> bool {
        self.0 & (1 << state as u32) != 0
    }

    /// Iterates over the states.
    pub fn iter(self) -> impl Iterator<Item = ElementState> {
        ElementState::ALL
            .iter()
            .copied()
            .filter(move |state| self.has(*state))
    }
}

impl fmt::Debug for ElementStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
