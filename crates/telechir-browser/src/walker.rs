//! The scripts that listen in a page, read it and act in it, in a world of their own that no page can
//! reach.
//!
//! `heard.js` listens to what a press does, and `wishes.js` to what the page is denied. `safe.js`
//! says how a page is kept from fooling the walker, `walk.js` reads, `roles.js`, `names.js` and
//! `states.js` say what an element is, `act.js` and `set.js` act on one.

macro_rules! ears {
    () => {
        concat!(
            "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirEars\")) return\n",
            include_str!("walker/wishes.js"),
            include_str!("walker/heard.js"),
            include_str!("walker/ears.js"),
            "})();\n"
        )
    };
}

/// What must be in a document before its own scripts. Run again in the same world, it does nothing.
pub(crate) const EARS: &str = ears!();

/// The ears and the walker, for a document that is read. Most frames never are, and it takes
/// milliseconds and a megabyte of each. Run again in the same world, it does nothing.
pub(crate) const WALKER: &str = concat!(
    ears!(),
    "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirWalker\")) return\n",
    "const { press } = telechirEars\n",
    include_str!("walker/safe.js"),
    include_str!("walker/roles.js"),
    include_str!("walker/names.js"),
    include_str!("walker/states.js"),
    include_str!("walker/walk.js"),
    include_str!("walker/act.js"),
    include_str!("walker/set.js"),
    include_str!("walker/main.js"),
    "})();\n"
);

// Of others Chromium keeps two bytes a character.
const _: () = assert!(WALKER.is_ascii());
