//! Names unnamed fields and buttons: after their labels, their descriptions or their containers.

use super::node::AccessibleNode;
use crate::bus::AtSpiBus;
use crate::object::{ACCESSIBLE, ObjectRef};
use crate::role;

/// `ATSPI_RELATION_LABEL_FOR`.
const LABEL_FOR: u32 = 1;
/// `ATSPI_RELATION_LABELLED_BY`.
const LABELLED_BY: u32 = 2;
/// Maximum number of containers in each other that hold one button.
const MAX_CONTAINERS: usize = 4;

/// A relation type and its targets.
type Relation = (u32, Vec<ObjectRef>);

/// Names the unnamed among these elements, which are those in view.
pub(super) async fn name_unnamed(bus: &AtSpiBus, nodes: &mut [AccessibleNode], shown: &[usize]) {
    let is_nameless =
        |node: &AccessibleNode| node.name.is_empty() && (is_field(node) || is_button(node));
    let nameless = |nodes: &[AccessibleNode]| -> Vec<usize> {
        let shown = shown.iter().copied();
        shown.filter(|at| is_nameless(&nodes[*at])).collect()
    };
    let mut left = nameless(nodes);
    labelled_by(bus, nodes, &left).await;
    left.retain(|at| nodes[*at].name.is_empty());
    if !left.is_empty() {
        label_for(bus, nodes, shown).await;
    }
    let left = nameless(nodes);
    let objects = left.iter().map(|at| &nodes[*at].object);
    let descriptions = bus.properties::<String>(objects, ACCESSIBLE, "Description");
    for (at, description) in left.iter().zip(descriptions.await) {
        nodes[*at].name = description.unwrap_or_default();
    }
    for at in nameless(nodes) {
        if is_button(&nodes[at])
            && let Some(name) = name_of_container(nodes, at)
        {
            nodes[at].name = name;
        }
    }
}

fn is_field(node: &AccessibleNode) -> bool {
    matches!(
        &*role::name(node.role),
        "textbox" | "combobox" | "slider" | "spinbutton" | "password" | "searchbox"
    )
}

fn is_button(node: &AccessibleNode) -> bool {
    &*role::name(node.role) == "button"
}

/// Those that know their labels themselves.
async fn labelled_by(bus: &AtSpiBus, nodes: &mut [AccessibleNode], nameless: &[usize]) {
    let relations = relations(bus, nodes, nameless).await;
    for (at, relations) in nameless.iter().zip(relations) {
        let by = targets(relations, LABELLED_BY);
        let labels = nodes.iter().filter(|node| by.contains(&node.object));
        let labels: Vec<&str> = labels.map(|node| node.name.as_str()).collect();
        nodes[*at].name = labels.join(" ");
    }
}

/// Those that a label in view names, or whose container it names: LibreOffice builds a combo box of
/// a field and a button in a box.
async fn label_for(bus: &AtSpiBus, nodes: &mut [AccessibleNode], shown: &[usize]) {
    let is_label =
        |at: &usize| &*role::name(nodes[*at].role) == "label" && !nodes[*at].name.is_empty();
    let labels: Vec<usize> = shown.iter().copied().filter(is_label).collect();
    let relations = relations(bus, nodes, &labels).await;
    for (label, relations) in labels.iter().zip(relations) {
        for target in targets(relations, LABEL_FOR) {
            if let Some(at) = labelled(nodes, &target) {
                nodes[at].name = nodes[*label].name.clone();
            }
        }
    }
}

/// The first unnamed field in view that is this object or in it; the first such button if there is
/// no field.
fn labelled(nodes: &[AccessibleNode], object: &ObjectRef) -> Option<usize> {
    let start = nodes.iter().position(|node| node.object == *object)?;
    let depth = nodes[start].depth;
    let inner = nodes[start + 1..]
        .iter()
        .take_while(|node| node.depth > depth);
    let range = start..=start + inner.count();
    let first = |fits: fn(&AccessibleNode) -> bool| {
        let is_shown = |at: &usize| nodes[*at].bounds.is_some() && fits(&nodes[*at]);
        range.clone().find(is_shown)
    };
    let at = first(is_field).or_else(|| first(is_button))?;
    nodes[at].name.is_empty().then_some(at)
}

/// The name of the container in which a button is alone.
fn name_of_container(nodes: &[AccessibleNode], button: usize) -> Option<String> {
    let mut at = button;
    for _ in 0..MAX_CONTAINERS {
        let depth = nodes[at].depth;
        let parent = nodes[..at].iter().rposition(|node| node.depth < depth)?;
        let inner = nodes[parent + 1..].iter();
        let inner = inner.take_while(|node| node.depth >= depth);
        let beside = inner.filter(|node| node.depth == depth && node.bounds.is_some());
        // The name of a window is not that of its only button.
        if beside.count() != 1 || nodes[parent].depth == 0 {
            return None;
        }
        let name = &nodes[parent].name;
        if !name.is_empty() {
            return Some(name.clone());
        }
        at = parent;
    }
    None
}

async fn relations(
    bus: &AtSpiBus,
    nodes: &[AccessibleNode],
    of: &[usize],
) -> Vec<Option<Vec<Relation>>> {
    let objects = of.iter().map(|at| &nodes[*at].object);
    bus.each(objects, ACCESSIBLE, "GetRelationSet", &()).await
}

fn targets(relations: Option<Vec<Relation>>, kind: u32) -> Vec<ObjectRef> {
    let relations = relations.unwrap_or_default().into_iter();
    let fitting = relations.filter(|(one, _)| *one == kind);
    fitting.flat_map(|(_, objects)| objects).collect()
}
