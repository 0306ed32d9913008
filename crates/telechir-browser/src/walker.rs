//! The script that reads a page and acts in it, in a world of its own that no page can reach.
//!
//! `safe.js` says how a page is kept from fooling it, `walk.js` reads, `roles.js`, `names.js` and
//! `states.js` say what an element is, `act.js` and `set.js` act on one; `heard.js` listens to what
//! a press does, and `wishes.js` tells what the page is denied.

/// The whole script. Run again in the same world, it does nothing. What must be there before the
/// page's own scripts is; the rest, which costs milliseconds and a megabyte, is made when it is first
/// used, for most frames are never read. All in ASCII, of which Chromium keeps a byte a character.
pub(crate) const SOURCE: &str = concat!(
    "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirWishes\")) return\n",
    include_str!("walker/wishes.js"),
    include_str!("walker/heard.js"),
    "const make = () => {\n",
    include_str!("walker/safe.js"),
    include_str!("walker/roles.js"),
    include_str!("walker/names.js"),
    include_str!("walker/states.js"),
    include_str!("walker/walk.js"),
    include_str!("walker/act.js"),
    include_str!("walker/set.js"),
    include_str!("walker/main.js"),
    "}\nlet walker\n",
    "Object.defineProperty(globalThis, \"telechirWalker\", { get: () => walker ??= make() })\n",
    "})()"
);

const _: () = assert!(SOURCE.is_ascii());
