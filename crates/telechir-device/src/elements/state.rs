//! How an element is: checked, expanded, focused.

use std::fmt;

macro_rules! states {
    ($($(#[$doc:meta])* $state:ident = $name:literal,)*) => {
        /// One thing that may be true of an element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum State {
            $($(#[$doc])* $state,)*
        }

        impl State {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$state,)*];

            /// Its name, as a description says it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$state => $name,)*
                }
            }
        }
    };
}

states! {
    /// The window that gets the keys.
    Active = "active",
    /// The element that gets the keys.
    Focused = "focused",
    /// It can get the keys.
    Focusable = "focusable",
    /// It can be on or off.
    Checkable = "checkable",
    /// It is on.
    Checked = "checked",
    /// It is neither on nor off.
    Mixed = "mixed",
    /// A button that stays down is down.
    Pressed = "pressed",
    /// It can be unfolded.
    Expandable = "expandable",
    /// It is unfolded.
    Expanded = "expanded",
    /// It can be chosen among others.
    Selectable = "selectable",
    /// It is chosen.
    Selected = "selected",
    /// Its text can be changed.
    Editable = "editable",
    /// It cannot be changed now.
    ReadOnly = "readonly",
    /// It does not react.
    Disabled = "disabled",
    /// It must be filled in.
    Required = "required",
    /// What it holds is wrong.
    Invalid = "invalid",
    /// It is still loading.
    Busy = "busy",
    /// Nothing else of its program reacts while it is there.
    Modal = "modal",
}

/// A set of states.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct States(u32);

impl States {
    /// These.
    pub fn of(states: &[State]) -> Self {
        let mut all = Self::default();
        states.iter().for_each(|state| all.add(*state));
        all
    }

    /// Adds one.
    pub const fn add(&mut self, state: State) {
        self.0 |= 1 << state as u32;
    }

    /// Whether it is among them.
    pub const fn has(self, state: State) -> bool {
        self.0 & (1 << state as u32) != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = State> {
        State::ALL
            .iter()
            .copied()
            .filter(move |state| self.has(*state))
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
