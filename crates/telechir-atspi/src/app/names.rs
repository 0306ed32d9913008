//! Cleans up element names that toolkits generate.

use super::node::AccessibleNode;
use crate::role;

/// GTK 4 names unnamed elements after their class (`GtkButton`) and repeats some names (`7 7`).
pub(super) fn tidy(nodes: &mut [AccessibleNode]) {
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

/// Length of the first half if the name consists of two equal halves separated by a space.
fn half_of(name: &str) -> Option<usize> {
    let half = name.len().checked_sub(1)? / 2;
    let first = name.get(..half)?;
    let second = name.get(half..)?.strip_prefix(' ')?;
    (first == second && !first.is_empty()).then_some(half)
}

/// Names unnamed buttons after their labels.
pub(super) fn fill(nodes: &mut [AccessibleNode]) {
    for at in 0..nodes.len() {
        let node = &nodes[at];
        if !node.name.is_empty() || role::name(node.role) != "button" {
            continue;
        }
        let depth = node.depth;
        let below = nodes[at + 1..]
            .iter()
            .take_while(|below| below.depth > depth);
        let labels: Vec<&str> = below
            .filter(|below| matches!(&*role::name(below.role), "label" | "text"))
            .map(|below| below.name.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        let name = labels.join(" ");
        nodes[at].name = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_class_names_and_doubled_names() {
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
