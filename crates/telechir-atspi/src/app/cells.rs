//! Reads the visible cells of tables that describe their cells only on request, as spreadsheets do.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use telechir_device::ScreenBounds;

use super::details::{Extent, bounds_of, each_extent, readable};
use super::node::AccessibleNode;
use crate::bus::{AtSpiBus, REPLY_TIMEOUT, within};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, COMPONENT, CellIndex, ObjectRef, TABLE, TEXT};
use crate::role;
use crate::state::{Bits, ENABLED, FOCUSED, MANAGES_DESCENDANTS, SHOWING};

/// Maximum number of cells that are asked for in one table.
const MAX_CELLS: usize = 800;
/// Maximum number of characters of a cell.
const MAX_TEXT_CHARS: i32 = 400;
/// Coordinate type of positions.
const SCREEN: u32 = 0;
/// Distances from the corner of a table at which its first cell may be: headers come before it.
const INSETS: [i32; 4] = [1, 12, 30, 60];

/// Adds the visible cells below their tables; returns the number of visible cells that were not
/// read.
pub(super) async fn read(
    bus: &AtSpiBus,
    nodes: &mut Vec<AccessibleNode>,
) -> Result<usize, BusError> {
    let mut left_off = 0;
    let mut at = 0;
    while at < nodes.len() {
        let node = &nodes[at];
        let is_lazy = node.bits.has(MANAGES_DESCENDANTS) && node.abilities.has(Abilities::TABLE);
        if let (Some(view), true) = (node.bounds, is_lazy) {
            let (cells, unread) = visible_cells(bus, node, view).await?;
            left_off += unread;
            insert(nodes, at, cells);
        }
        at += 1;
    }
    Ok(left_off)
}

/// Puts the cells of the table at an index behind its headers. They replace the cells that are there
/// already: GTK lists the few of which it has told somebody.
fn insert(nodes: &mut Vec<AccessibleNode>, table: usize, cells: Vec<AccessibleNode>) {
    if cells.is_empty() {
        return;
    }
    let (depth, start) = (nodes[table].depth, table + 1);
    let below = nodes[start..].iter().take_while(|node| node.depth > depth);
    let end = start + below.count();
    let mut is_header = false;
    let mut retained: Vec<AccessibleNode> = nodes.drain(start..end).collect();
    retained.retain(|node| {
        if node.depth == depth + 1 {
            let role = role::name(node.role);
            is_header = matches!(&*role, "columnheader" | "rowheader");
        }
        is_header
    });
    nodes.splice(start..start, retained.into_iter().chain(cells));
}

/// The object of a cell; `None` if the table has no such cell.
pub(crate) async fn at(bus: &AtSpiBus, cell: &CellIndex) -> Result<Option<ObjectRef>, BusError> {
    let index = (cell.row, cell.column);
    let found = bus.get::<ObjectRef, _>(&cell.table, TABLE, "GetAccessibleAt", &index);
    match within("an application", REPLY_TIMEOUT, found).await {
        Ok(object) => Ok((!object.is_null()).then_some(object)),
        Err(BusError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn visible_cells(
    bus: &AtSpiBus,
    table: &AccessibleNode,
    view: ScreenBounds,
) -> Result<(Vec<AccessibleNode>, usize), BusError> {
    let Some((rows, columns)) = visible_range(bus, table, view).await else {
        return Ok((Vec::new(), 0));
    };
    let mut positions = rows
        .clone()
        .flat_map(|row| columns.clone().map(move |column| (row, column)));
    let read: Vec<CellIndex> = positions
        .by_ref()
        .take(MAX_CELLS)
        .map(|(row, column)| CellIndex {
            table: table.object.clone(),
            row,
            column,
        })
        .collect();
    Ok((describe(bus, table, view, read).await?, positions.count()))
}

/// The rows and columns between the first and the last cell in view; `None` if there is none.
async fn visible_range(
    bus: &AtSpiBus,
    table: &AccessibleNode,
    view: ScreenBounds,
) -> Option<(RangeInclusive<i32>, RangeInclusive<i32>)> {
    let (width, height) = (view.width.cast_signed(), view.height.cast_signed());
    let (dx, dy) = table.shift;
    let corner = async |inset: (i32, i32)| {
        let x = view.x.saturating_sub(dx).saturating_add(inset.0);
        let y = view.y.saturating_sub(dy).saturating_add(inset.1);
        position_at(bus, &table.object, (x, y)).await
    };
    let mut first = None;
    for inset in INSETS {
        first = corner((1, inset)).await;
        if first.is_some() {
            break;
        }
    }
    let (top, left) = first?;
    let last = corner((width - 2, height - 2)).await;
    let (bottom, right) = match last {
        Some(last) => last,
        // The table ends before its view does.
        None => {
            let (rows, columns) = tokio::join!(
                bus.property::<i32>(&table.object, TABLE, "NRows"),
                bus.property::<i32>(&table.object, TABLE, "NColumns"),
            );
            (rows.ok()? - 1, columns.ok()? - 1)
        }
    };
    Some((top..=bottom, left..=right))
}

/// Row and column of the cell at a point.
async fn position_at(bus: &AtSpiBus, table: &ObjectRef, (x, y): (i32, i32)) -> Option<(i32, i32)> {
    let point = (x, y, SCREEN);
    let cell: ObjectRef = bus
        .get(table, COMPONENT, "GetAccessibleAtPoint", &point)
        .await
        .ok()?;
    if cell.is_null() || cell == *table {
        return None;
    }
    let index: i32 = bus
        .get(&cell, ACCESSIBLE, "GetIndexInParent", &())
        .await
        .ok()?;
    let (row, column) = tokio::join!(
        bus.get::<i32, _>(table, TABLE, "GetRowAtIndex", &index),
        bus.get::<i32, _>(table, TABLE, "GetColumnAtIndex", &index),
    );
    let index = (row.ok()?, column.ok()?);
    (index.0 >= 0 && index.1 >= 0).then_some(index)
}

async fn describe(
    bus: &AtSpiBus,
    table: &AccessibleNode,
    view: ScreenBounds,
    positions: Vec<CellIndex>,
) -> Result<Vec<AccessibleNode>, BusError> {
    let found = positions
        .iter()
        .map(|cell| async { at(bus, cell).await.ok().flatten() });
    let found = futures_util::future::join_all(found.collect::<Vec<_>>()).await;
    let cells = positions.into_iter().zip(found);
    let cells: Vec<(CellIndex, ObjectRef)> = cells
        .filter_map(|(cell, object)| Some((cell, object?)))
        .collect();
    let objects = cells.iter().map(|(_, object)| object);
    let texts = bus.each::<String, _>(objects, TEXT, "GetText", &(0i32, -1i32));
    let texts = texts.await.into_iter();
    let texts = texts.map(|text| text.map(|text| shorten(&readable(&text))));
    // Most cells of a sheet are empty; they are only asked whether they have the focus.
    let is_empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
    let (empty, cells): (Vec<_>, Vec<_>) = cells
        .into_iter()
        .zip(texts)
        .map(|((cell, object), text)| (cell, object, text))
        .partition(|(_, _, text)| is_empty(text));
    let objects = || cells.iter().map(|(_, object, _)| object);
    let (names, roles, states, extents) = tokio::join!(
        bus.properties::<String>(objects(), ACCESSIBLE, "Name"),
        bus.each::<u32, _>(objects(), ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(objects(), ACCESSIBLE, "GetState", &()),
        each_extent(bus, objects(), SCREEN),
    );
    let mut names: Vec<String> = names.into_iter().map(Option::unwrap_or_default).collect();
    let nameless = cells.iter().zip(&mut names);
    let nameless = nameless.filter(|((_, _, text), name)| text.is_none() && name.is_empty());
    let (composite, unset): (Vec<&ObjectRef>, Vec<&mut String>) = nameless
        .map(|((_, object, _), name)| (object, name))
        .unzip();
    for (name, joined) in unset.into_iter().zip(part_names(bus, &composite).await) {
        *name = joined;
    }
    let answers = names.into_iter().zip(roles).zip(states).zip(extents);
    let mut nodes = Vec::new();
    for ((cell, object, text), (((name, role), states), extent)) in
        cells.iter().cloned().zip(answers)
    {
        let (Some(role), Some(extent)) = (role, extent) else {
            continue;
        };
        let bits = Bits::of(&states.unwrap_or_default());
        let bounds = bounds_of(extent, table.shift).and_then(|bounds| bounds.within(view));
        let has_content = text.is_some() || !name.is_empty();
        if bounds.is_none() || !bits.has(SHOWING) || !has_content {
            continue;
        }
        nodes.push(AccessibleNode {
            depth: table.depth + 1,
            value: text.filter(|text| *text != name),
            name,
            bounds,
            shift: table.shift,
            cell: Some(cell),
            ..AccessibleNode::bare(object, role, bits)
        });
    }
    let empty = empty.into_iter().map(|(cell, object, _)| (cell, object));
    let mut empty = describe_empty(bus, table, view, empty.collect()).await;
    if !nodes.iter().any(|node| node.bits.has(FOCUSED)) {
        mark_focused(bus, &mut empty).await;
    }
    nodes.append(&mut empty);
    let position = |node: &AccessibleNode| node.cell.as_ref().map(|cell| (cell.row, cell.column));
    nodes.sort_by_key(position);
    Ok(nodes)
}

/// The empty cells of a spreadsheet: their names and bounds follow from those of the first row and
/// the first column in view. Cells of other tables have no such names.
async fn describe_empty(
    bus: &AtSpiBus,
    table: &AccessibleNode,
    view: ScreenBounds,
    cells: Vec<(CellIndex, ObjectRef)>,
) -> Vec<AccessibleNode> {
    let rows: BTreeSet<i32> = cells.iter().map(|(cell, _)| cell.row).collect();
    let columns: BTreeSet<i32> = cells.iter().map(|(cell, _)| cell.column).collect();
    let (Some(top), Some(left)) = (rows.first(), columns.first()) else {
        return Vec::new();
    };
    let of = |row: i32, column: i32| CellIndex {
        table: table.object.clone(),
        row,
        column,
    };
    let row_ends = rows.iter().map(|row| of(*row, *left));
    let column_ends = columns.iter().map(|column| of(*top, *column));
    let (row_ends, column_ends) = tokio::join!(
        described(bus, row_ends.collect()),
        described(bus, column_ends.collect())
    );
    let rows: HashMap<i32, (String, Extent)> = row_ends
        .into_iter()
        .filter_map(|(cell, name, extent)| Some((cell.row, (split_name(&name)?.1, extent))))
        .collect();
    let columns: HashMap<i32, (String, Extent)> = column_ends
        .into_iter()
        .filter_map(|(cell, name, extent)| Some((cell.column, (split_name(&name)?.0, extent))))
        .collect();
    let mut nodes = Vec::new();
    for (cell, object) in cells {
        let (Some((digits, (_, y, _, height))), Some((letters, (x, _, width, _)))) =
            (rows.get(&cell.row), columns.get(&cell.column))
        else {
            continue;
        };
        let bounds = bounds_of((*x, *y, *width, *height), table.shift);
        let Some(bounds) = bounds.and_then(|bounds| bounds.within(view)) else {
            continue;
        };
        nodes.push(AccessibleNode {
            depth: table.depth + 1,
            name: format!("{letters}{digits}"),
            bounds: Some(bounds),
            shift: table.shift,
            cell: Some(cell),
            is_empty_cell: true,
            ..AccessibleNode::bare(
                object,
                role::TABLE_CELL,
                Bits::of_states(&[ENABLED, SHOWING]),
            )
        });
    }
    nodes
}

/// Adds the focus to the empty cell that has it. Selected ones stay as they are: they can be many.
async fn mark_focused(bus: &AtSpiBus, cells: &mut [AccessibleNode]) {
    let objects = cells.iter().map(|cell| &cell.object);
    let states = bus.each::<Vec<u32>, _>(objects, ACCESSIBLE, "GetState", &());
    let states = states.await;
    let is_focused = |states: &Option<Vec<u32>>| {
        states
            .as_ref()
            .is_some_and(|one| Bits::of(one).has(FOCUSED))
    };
    if let Some(cell) = states.iter().position(is_focused) {
        cells[cell].bits = Bits::of_states(&[ENABLED, SHOWING, FOCUSED]);
    }
}

/// The names and extents of cells.
async fn described(bus: &AtSpiBus, cells: Vec<CellIndex>) -> Vec<(CellIndex, String, Extent)> {
    let found = cells
        .iter()
        .map(|cell| async { at(bus, cell).await.ok().flatten() });
    let found = futures_util::future::join_all(found.collect::<Vec<_>>()).await;
    let cells = cells.into_iter().zip(found);
    let cells: Vec<(CellIndex, ObjectRef)> = cells
        .filter_map(|(cell, object)| Some((cell, object?)))
        .collect();
    let objects = || cells.iter().map(|(_, object)| object);
    let (names, extents) = tokio::join!(
        bus.properties::<String>(objects(), ACCESSIBLE, "Name"),
        each_extent(bus, objects(), SCREEN),
    );
    let answers = names.into_iter().zip(extents);
    let described = cells.iter().cloned().zip(answers);
    described
        .filter_map(|((cell, _), (name, extent))| Some((cell, name?, extent?)))
        .collect()
}

/// Column and row of a name such as `B7`.
fn split_name(name: &str) -> Option<(String, String)> {
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = name.split_at(digits);
    let is_column = !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_row = digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_column && is_row).then(|| (letters.to_owned(), digits.to_owned()))
}

/// The names of the parts of cells, joined: a cell with an icon and a text has none itself.
pub(crate) async fn part_names(bus: &AtSpiBus, cells: &[&ObjectRef]) -> Vec<String> {
    let parts =
        bus.each::<Vec<ObjectRef>, _>(cells.iter().copied(), ACCESSIBLE, "GetChildren", &());
    let parts: Vec<Vec<ObjectRef>> = parts
        .await
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let names = bus.properties::<String>(parts.iter().flatten(), ACCESSIBLE, "Name");
    let mut names = names.await.into_iter();
    let joined = parts.iter().map(|parts| {
        let names = names.by_ref().take(parts.len()).flatten();
        let mut distinct: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        distinct.dedup();
        distinct.join(" ")
    });
    joined.collect()
}

fn shorten(text: &str) -> String {
    text.chars()
        .take(usize::try_from(MAX_TEXT_CHARS).unwrap_or(usize::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cells_are_a_column_and_a_row() {
        let split = |name| split_name(name).map(|(column, row)| format!("{column} {row}"));
        assert_eq!(split("B7").as_deref(), Some("B 7"));
        assert_eq!(split("AA120").as_deref(), Some("AA 120"));
        for other in ["", "B", "7", "b7", "B7 of Sheet", "file1.txt"] {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
