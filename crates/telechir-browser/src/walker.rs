//! The script that reads a page and acts in it, in a world of its own that no page can reach.
//!
//! `safe.js` says how a page is kept from fooling it, `walk.js` reads, `roles.js`, `names.js` and
//! `states.js` say what an element is, `act.js` and `set.js` act on one; `wishes.js` tells what the
//! page is denied.

/// The whole script. Run again in the same world, it does nothing.
pub(crate) const SOURCE: &str = concat!(
    "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirWalker\")) return\n",
    include_str!("walker/safe.js"),
    include_str!("walker/roles.js"),
    include_str!("walker/names.js"),
    include_str!("walker/states.js"),
    include_str!("walker/walk.js"),
    include_str!("walker/act.js"),
    include_str!("walker/set.js"),
    include_str!("walker/wishes.js"),
    include_str!("walker/main.js"),
    "})()"
);
