//! Names as a person would say them, where an application's own are odd.

use super::Node;
use crate::role;

/// GTK 4 calls what has no name by its class (`GtkButton`), and says some names twice (`7 7`).
pub(super) fn tidy(nodes: &mut [Node]) {
    for node in nodes {
        if is_class(&node.name) {
            node.name.clear();
        } else if let Some(half) = half_of(&node.name) {
            node.name.truncate(half);
        }
    }
}

fn is_class(name: &str) -> bool {
    let rest = ["Gtk", "Adw", "Hdy"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_uppercase())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Where the first of two equal halves with a space between ends.
fn half_of(name: &str) -> Option<usize> {
    let half = name.len().checked_sub(1)? / 2;
    let first = name.get(..half)?;
    let second = name.get(half..)?.strip_prefix(' ')?;
    (first == second && !first.is_empty()).then_some(half)
}

/// A button without a name has that of the words on it.
pub(super) fn fill(nodes: &mut [Node]) {
    for at in 0..nodes.len() {
        let node = &nodes[at];
        if !node.name.is_empty() || role::name(node.role) != "button" {
            continue;
        }
        let depth = node.depth;
        let below = nodes[at + 1..]
            .iter()
            .take_while(|below| below.depth > depth);
        let words: Vec<&str> = below
            .filter(|below| matches!(&*role::name(below.role), "label" | "text"))
            .map(|below| below.name.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        let name = words.join(" ");
        nodes[at].name = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_told_from_others() {
        assert!(is_class("GtkMenuButton") && is_class("AdwGizmo"));
        assert!(!is_class("Gtk") && !is_class("Gtk demo") && !is_class("Adwords"));
        assert_eq!(half_of("7 7"), Some(1));
        assert_eq!(half_of("mod mod"), Some(3));
        assert_eq!(half_of("× ×"), Some(2));
        assert_eq!(half_of("7 8"), None);
        assert_eq!(half_of(" "), None);
        assert_eq!(half_of(""), None);
    }
}
