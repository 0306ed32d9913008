//! The filters of a PNG's rows (its specification, section 9) and the choice among them.

/// Bytes of a pixel.
const PIXEL: usize = 3;

/// A row in its best filter, after the byte that names the filter.
#[derive(Debug)]
pub(super) struct Filtered {
    best: Vec<u8>,
    trial: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterKind {
    Nothing = 0,
    Sub = 1,
    Up = 2,
    Average = 3,
    Paeth = 4,
}

impl Filtered {
    /// Creates a buffer for rows of `length` bytes.
    pub(super) fn new(length: usize) -> Self {
        Self {
            best: vec![0; length + 1],
            trial: vec![0; length + 1],
        }
    }

    /// Filters a row that equals the one above.
    pub(super) fn same(&mut self) -> &[u8] {
        self.best.fill(0);
        self.best[0] = FilterKind::Up as u8;
        &self.best
    }

    /// The row without a filter.
    pub(super) fn plain(&mut self, current: &[u8]) -> &[u8] {
        self.best[0] = FilterKind::Nothing as u8;
        self.best[1..].copy_from_slice(current);
        &self.best
    }

    /// The row in the filter with the smallest sum of bytes.
    pub(super) fn smallest(&mut self, above: &[u8], current: &[u8]) -> &[u8] {
        let mut least = u64::MAX;
        for kind in [
            FilterKind::Up,
            FilterKind::Sub,
            FilterKind::Average,
            FilterKind::Paeth,
        ] {
            apply(kind, above, current, &mut self.trial);
            let cost = cost(&self.trial[1..]);
            if cost < least {
                least = cost;
                std::mem::swap(&mut self.best, &mut self.trial);
            }
            if cost == 0 {
                break;
            }
        }
        &self.best
    }
}

fn apply(kind: FilterKind, above: &[u8], current: &[u8], out: &mut [u8]) {
    let (name, out) = out.split_at_mut(1);
    name[0] = kind as u8;
    let length = current.len();
    let (above, out) = (&above[..length], &mut out[..length]);
    // The first pixel has no left neighbour, which counts as black.
    let (first, rest) = out.split_at_mut(PIXEL);
    let left = &current[..length - PIXEL];
    let corner = &above[..length - PIXEL];
    let (top, here) = (&above[PIXEL..], &current[PIXEL..]);
    for (index, byte) in first.iter_mut().enumerate() {
        let predicted = match kind {
            FilterKind::Nothing | FilterKind::Sub => 0,
            FilterKind::Up | FilterKind::Paeth => above[index],
            FilterKind::Average => above[index] / 2,
        };
        *byte = current[index].wrapping_sub(predicted);
    }
    match kind {
        FilterKind::Nothing => rest.copy_from_slice(here),
        FilterKind::Sub => each(rest, here, left, |left| left),
        FilterKind::Up => each(rest, here, top, |top| top),
        FilterKind::Average => {
            for (((byte, here), left), top) in rest.iter_mut().zip(here).zip(left).zip(top) {
                // The mean without a wider type.
                let mean = (left & top).wrapping_add((left ^ top) >> 1);
                *byte = here.wrapping_sub(mean);
            }
        }
        FilterKind::Paeth => {
            let around = left.iter().zip(top).zip(corner);
            for ((byte, here), ((left, top), corner)) in rest.iter_mut().zip(here).zip(around) {
                *byte = here.wrapping_sub(paeth(*left, *top, *corner));
            }
        }
    }
}

fn each(out: &mut [u8], here: &[u8], beside: &[u8], predicted: impl Fn(u8) -> u8) {
    for ((byte, here), beside) in out.iter_mut().zip(here).zip(beside) {
        *byte = here.wrapping_sub(predicted(*beside));
    }
}

/// The value nearest to left + top - corner, as the specification defines it.
fn paeth(left: u8, top: u8, corner: u8) -> u8 {
    let wide = i16::from;
    let to_left = wide(top).wrapping_sub(wide(corner));
    let to_top = wide(left).wrapping_sub(wide(corner));
    let to_corner = to_left.wrapping_add(to_top).wrapping_abs();
    let (to_left, to_top) = (to_left.wrapping_abs(), to_top.wrapping_abs());
    let of_two = if to_left <= to_top { left } else { top };
    if to_left.min(to_top) <= to_corner {
        of_two
    } else {
        corner
    }
}

/// The sum of the bytes' absolute values as signed numbers.
fn cost(bytes: &[u8]) -> u64 {
    // Sums that cannot overflow in the narrow type that the machine adds fastest.
    let of_some = |some: &[u8]| {
        some.iter().fold(0_u16, |sum, byte| {
            sum.wrapping_add(u16::from(byte.cast_signed().unsigned_abs()))
        })
    };
    bytes.chunks(256).map(of_some).map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoder as the specification defines it.
    fn undo(kind: u8, above: &[u8], row: &[u8]) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        for (index, byte) in row.iter().enumerate() {
            let before = index.checked_sub(PIXEL);
            let left = before.map_or(0, |at| out[at]);
            let corner = before.map_or(0, |at| above[at]);
            let top = above[index];
            let predicted = match kind {
                0 => 0,
                1 => left,
                2 => top,
                3 => u8::try_from((u16::from(left) + u16::from(top)) / 2).unwrap(),
                _ => {
                    let guess = i16::from(left) + i16::from(top) - i16::from(corner);
                    let far = |from: u8| (guess - i16::from(from)).abs();
                    if far(left) <= far(top) && far(left) <= far(corner) {
                        left
                    } else if far(top) <= far(corner) {
                        top
                    } else {
                        corner
                    }
                }
            };
            out.push(byte.wrapping_add(predicted));
        }
        out
    }

    #[test]
    fn every_filter_can_be_undone() {
        // Values that often wrap around, so that every branch is tested.
        let noise = |seed: u32| -> Vec<u8> {
            (0..300_u32)
                .map(|n| (n.wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 21).to_le_bytes()[0])
                .collect()
        };
        let (above, current) = (noise(77), noise(1234));
        let mut out = vec![0; 301];
        for kind in [
            FilterKind::Nothing,
            FilterKind::Sub,
            FilterKind::Up,
            FilterKind::Average,
            FilterKind::Paeth,
        ] {
            apply(kind, &above, &current, &mut out);
            assert_eq!(undo(out[0], &above, &out[1..]), current, "{kind:?}");
        }
    }

    #[test]
    fn a_row_as_the_one_above_costs_nothing() {
        let row = [9, 8, 7, 200, 100, 50];
        let mut filtered = Filtered::new(6);
        assert_eq!(filtered.smallest(&row, &row), [2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(filtered.same(), [2, 0, 0, 0, 0, 0, 0]);
    }
}
