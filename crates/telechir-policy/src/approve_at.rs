//! Where a question may be answered.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An interface through which a person answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// The terminal from which telechir or its caller was started.
    Terminal,
    /// A web page of telechir.
    Page,
    /// Any other interface, such as one of an embedding program.
    Other,
}

/// The interfaces that may answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproveAt {
    /// Every interface, also one of an embedding program.
    #[default]
    Any,
    /// Only the terminal of telechir or of its caller.
    Terminal,
    /// Only a web page of telechir.
    Page,
    /// No interface: two rules name different ones.
    Nowhere,
}

impl ApproveAt {
    /// Whether this interface may answer.
    pub fn admits(self, interface: Interface) -> bool {
        match self {
            Self::Any => true,
            Self::Terminal => interface == Interface::Terminal,
            Self::Page => interface == Interface::Page,
            Self::Nowhere => false,
        }
    }

    /// The interfaces that both admit.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, one) | (one, Self::Any) => one,
            (one, same) if one == same => one,
            _ => Self::Nowhere,
        }
    }

    /// Whether every interface may answer.
    pub(crate) fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

impl fmt::Display for ApproveAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any interface",
            Self::Terminal => "a terminal",
            Self::Page => "a web page of telechir",
            Self::Nowhere => "no interface",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interfaces_of_two_rules_are_those_that_both_admit() {
        use ApproveAt::{Any, Nowhere, Page, Terminal};
        for (one, other, both) in [
            (Any, Any, Any),
            (Any, Page, Page),
            (Terminal, Any, Terminal),
            (Terminal, Terminal, Terminal),
            (Terminal, Page, Nowhere),
            (Nowhere, Any, Nowhere),
            (Page, Nowhere, Nowhere),
        ] {
            assert_eq!(one.and(other), both, "{one:?} {other:?}");
        }
        let recorded = |approve| {
            let reason = crate::RuleReason {
                approve,
                ..crate::RuleReason::built_in(crate::Verdict::Ask, "keys", "x")
            };
            serde_json::to_value(reason)
                .unwrap()
                .get("approve")
                .cloned()
        };
        assert_eq!(recorded(Any), None);
        assert_eq!(recorded(Terminal), Some("terminal".into()));
        let interfaces = [Interface::Terminal, Interface::Page, Interface::Other];
        let admitted = |at: ApproveAt| interfaces.map(|interface| at.admits(interface));
        assert_eq!(admitted(Any), [true, true, true]);
        assert_eq!(admitted(Terminal), [true, false, false]);
        assert_eq!(admitted(Page), [false, true, false]);
        assert_eq!(admitted(Nowhere), [false, false, false]);
    }
}
