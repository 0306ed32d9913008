//! Ids of the parts of a call that a dialect writes as several calls: `call_1-1of3`.

/// The parts of an id that [`part_id`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId<'a> {
    /// The id of the complete call.
    pub(crate) base: &'a str,
    /// The part's number, from 1.
    pub(crate) number: usize,
    /// The number of parts.
    pub(crate) count: usize,
}

impl<'a> PartId<'a> {
    /// Parses an id; `None` if it is the id of a complete call.
    pub(crate) fn parse(id: &'a str) -> Option<Self> {
        let (base, position) = id.rsplit_once('-')?;
        let (number, count) = position.split_once("of")?;
        Some(Self {
            base,
            number: number.parse().ok()?,
            count: count.parse().ok()?,
        })
    }

    /// Whether this is the first of several parts.
    pub(crate) fn is_first(&self) -> bool {
        self.number == 1 && self.count > 1
    }

    /// Whether this part follows the other one.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        (self.base, self.count) == (other.base, other.count) && self.number == other.number + 1
    }
}

/// The id of one part; `number` starts at 1.
pub(crate) fn part_id(base: &str, number: usize, count: usize) -> String {
    if count == 1 {
        base.to_owned()
    } else {
        format!("{base}-{number}of{count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_part_is_parsed_into_what_it_was_made_of() {
        for (number, count) in [(1, 2), (2, 2), (7, 12)] {
            let id = part_id("call-1of2", number, count);
            let base = "call-1of2";
            let part = PartId {
                base,
                number,
                count,
            };
            assert_eq!(PartId::parse(&id), Some(part));
        }
    }

    #[test]
    fn a_complete_call_keeps_its_id() {
        assert_eq!(part_id("call_1", 1, 1), "call_1");
        for id in ["call_1", "call-1", "call-ofof2", "call-of", "1of2", ""] {
            assert_eq!(PartId::parse(id), None, "{id}");
        }
    }

    #[test]
    fn only_the_next_part_of_the_same_call_follows() {
        let parse = |id| PartId::parse(id).unwrap();
        let first = parse("a-1of3");
        assert!(parse("a-2of3").follows(&first));
        for id in ["a-3of3", "a-1of3", "a-2of4", "b-2of3"] {
            assert!(!parse(id).follows(&first), "{id}");
        }
        assert!(first.is_first() && !parse("a-1of1").is_first());
    }
}
