//! Which parts of a screen changed when: a version for each tile, so that what a viewer lacks follows
//! from the number of the version that it has, and nothing is stored for it.

use telechir_device::{Frame, ScreenRegion};
use telechir_protocol::Size;

/// Width and height of a tile in pixels.
const TILE: u32 = 32;
/// Maximum number of rectangles of an update. With more, larger tiles are joined.
const MAX_AREAS: usize = 16;
const PIXEL_BYTES: usize = 4;

/// The versions of a screen's tiles.
#[derive(Debug, Default)]
pub(super) struct TileVersions {
    size: Option<Size>,
    columns: u32,
    rows: u32,
    /// Row by row.
    versions: Vec<u64>,
    latest: u64,
}

impl TileVersions {
    /// The number of the latest version; 0 before the first frame.
    pub(super) const fn latest(&self) -> u64 {
        self.latest
    }

    /// Makes a new version of what differs between two frames; without one before, of everything.
    pub(super) fn add(&mut self, before: Option<&Frame>, frame: &Frame) {
        let size = frame.size();
        let next = self.latest + 1;
        let before = before.filter(|before| before.size() == size && self.size == Some(size));
        let Some(before) = before else {
            self.columns = size.width.div_ceil(TILE);
            self.rows = size.height.div_ceil(TILE);
            self.versions = vec![next; self.columns as usize * self.rows as usize];
            (self.size, self.latest) = (Some(size), next);
            return;
        };
        if before.is_known_equal(frame) {
            return;
        }
        let row_bytes = (size.width as usize * PIXEL_BYTES).max(1);
        let rows = before.bgrx().chunks_exact(row_bytes);
        let rows = rows.zip(frame.bgrx().chunks_exact(row_bytes));
        for (y, (old, new)) in rows.enumerate() {
            if old == new {
                continue;
            }
            let tiles = old.chunks(TILE as usize * PIXEL_BYTES);
            let tiles = tiles.zip(new.chunks(TILE as usize * PIXEL_BYTES));
            let first = y / TILE as usize * self.columns as usize;
            let versions = self.versions.iter_mut().skip(first);
            for (version, (old, new)) in versions.zip(tiles) {
                if old != new {
                    *version = next;
                    self.latest = next;
                }
            }
        }
    }

    /// The rectangles that changed after this version, without overlaps; without one, or with one that
    /// does not exist yet, the complete screen.
    pub(super) fn changed_since(&self, since: Option<u64>) -> Vec<ScreenRegion> {
        let Some(size) = self.size else {
            return Vec::new();
        };
        let Some(since) = since.filter(|since| *since <= self.latest) else {
            return vec![ScreenRegion::of_screen(size)];
        };
        let mut tile = 1;
        loop {
            let areas = self.joined(since, tile);
            if areas.len() <= MAX_AREAS {
                let region = |area: &TileArea| ScreenRegion::clip(size, area.edges(tile * TILE));
                return areas.iter().filter_map(region).collect();
            }
            tile *= 2;
        }
    }

    /// The changed tiles as rectangles, `tile` tiles wide and high joined to one.
    fn joined(&self, since: u64, tile: u32) -> Vec<TileArea> {
        let has_changed = |column: u32, row: u32| {
            let mut rows = row * tile..((row + 1) * tile).min(self.rows);
            let columns = column * tile..((column + 1) * tile).min(self.columns);
            rows.any(|row| {
                let start = (row * self.columns + columns.start) as usize;
                let end = (row * self.columns + columns.end) as usize;
                let versions = self.versions.get(start..end).unwrap_or_default();
                versions.iter().any(|version| *version > since)
            })
        };
        let columns = self.columns.div_ceil(tile);
        let mut areas: Vec<TileArea> = Vec::new();
        for row in 0..self.rows.div_ceil(tile) {
            let mut column = 0;
            while column < columns {
                let start = column;
                while column < columns && has_changed(column, row) {
                    column += 1;
                }
                if start < column {
                    add_run(&mut areas, start, column, row);
                }
                column += 1;
            }
        }
        areas
    }
}

/// A rectangle of tiles; right and bottom are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TileArea {
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

impl TileArea {
    fn edges(self, tile: u32) -> [i32; 4] {
        let edges = [self.left, self.top, self.right, self.bottom];
        edges.map(|edge| i32::try_from(edge * tile).unwrap_or(i32::MAX))
    }
}

/// Adds a run of tiles, as part of the rectangle right above if that is as wide.
fn add_run(areas: &mut Vec<TileArea>, left: u32, right: u32, row: u32) {
    let above = areas
        .iter_mut()
        .find(|area| (area.left, area.right, area.bottom) == (left, right, row));
    match above {
        Some(area) => area.bottom = row + 1,
        None => areas.push(TileArea {
            left,
            top: row,
            right,
            bottom: row + 1,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size::new(200, 100);

    fn blank() -> Frame {
        Frame::new(SIZE, vec![0; 200 * 100 * 4]).unwrap()
    }

    fn dotted(points: &[(u32, u32)]) -> Frame {
        let mut frame = blank();
        for (x, y) in points {
            frame.bgrx_mut()[((y * 200 + x) * 4) as usize] = 1;
        }
        frame
    }

    fn edges(tiles: &TileVersions, since: Option<u64>) -> Vec<(u32, u32, u32, u32)> {
        let areas = tiles.changed_since(since);
        let edges = |area: &ScreenRegion| {
            let (origin, size) = (area.origin(), area.size());
            (origin.x(), origin.y(), size.width, size.height)
        };
        areas.iter().map(edges).collect()
    }

    #[test]
    fn a_viewer_gets_what_changed_since_its_version() {
        let mut tiles = TileVersions::default();
        assert_eq!(edges(&tiles, None), []);
        tiles.add(None, &blank());
        let first = tiles.latest();
        assert_eq!(edges(&tiles, None), [(0, 0, 200, 100)]);
        assert_eq!(edges(&tiles, Some(first)), []);
        let (dot, dots) = (dotted(&[(0, 0)]), dotted(&[(0, 0), (199, 99), (165, 97)]));
        tiles.add(Some(&blank()), &dot);
        let second = tiles.latest();
        assert_eq!(edges(&tiles, Some(first)), [(0, 0, 32, 32)]);
        tiles.add(Some(&dot), &dots);
        // The last tiles are cut off at the edge of the screen.
        assert_eq!(edges(&tiles, Some(second)), [(160, 96, 40, 4)]);
        assert_eq!(
            edges(&tiles, Some(first)),
            [(0, 0, 32, 32), (160, 96, 40, 4)]
        );
        // A version of another session host, which does not exist here.
        assert_eq!(edges(&tiles, Some(99)), [(0, 0, 200, 100)]);
        tiles.add(Some(&dots), &dots.clone());
        assert_eq!(tiles.latest(), second + 1, "nothing changed");
    }

    #[test]
    fn tiles_below_each_other_are_one_rectangle_and_many_are_few() {
        let mut tiles = TileVersions::default();
        tiles.add(None, &blank());
        let column = dotted(&[(40, 0), (40, 40), (40, 70)]);
        tiles.add(Some(&blank()), &column);
        assert_eq!(edges(&tiles, Some(1)), [(32, 0, 32, 96)]);

        let size = Size::new(64 * TILE, 64 * TILE);
        let bytes = size.width as usize * size.height as usize * PIXEL_BYTES;
        let before = Frame::new(size, vec![0; bytes]).unwrap();
        let mut frame = before.clone();
        // Every second tile, like a chess board.
        for row in 0..64_u32 {
            for column in (row % 2..64).step_by(2) {
                let at = (row * TILE * size.width + column * TILE) * 4;
                frame.bgrx_mut()[at as usize] = 1;
            }
        }
        let mut tiles = TileVersions::default();
        tiles.add(None, &before);
        tiles.add(Some(&before), &frame);
        assert_eq!(
            tiles.changed_since(Some(1)),
            [ScreenRegion::of_screen(size)]
        );
    }

    #[test]
    fn another_size_is_a_new_screen() {
        let mut tiles = TileVersions::default();
        tiles.add(None, &blank());
        let small = Frame::new(Size::new(1, 1), vec![0; 4]).unwrap();
        tiles.add(Some(&blank()), &small);
        assert_eq!(edges(&tiles, Some(1)), [(0, 0, 1, 1)]);
    }
}
