// What is heard of a press on the element that is expected to get it: before the page's own
// scripts, which could stop it.
const press = { expected: null, heard: [], tell: null }
const MOST_HEARD = 64
const hear = event => {
  const { expected, heard } = press
  if (!expected || !event.isTrusted || heard.length >= MOST_HEARD) return
  heard.push([event.type, event.composedPath()[0]])
  press.tell?.()
}
for (const kind of ["mousemove", "mousedown", "click", "auxclick", "contextmenu", "dblclick"]) addEventListener(kind, hear, { capture: true, passive: true })
