// The page as lines, one a node, parents before what they hold.
const ids = new WeakMap()
const known = new Map()
let lastId = 0
const idOf = element => {
  let id = ids.get(element)
  if (!id) {
    id = ++lastId
    ids.set(element, id)
    known.set(id, new WeakRef(element))
  }
  return id
}
const find = id => {
  const element = known.get(id)?.deref()
  if (!element) known.delete(id)
  return element && isConnectedNow(element) ? element : null
}

// How often the page changed since it was first read: what it holds, and where it is scrolled to.
let changes = 0
let isWatched = false
const changed = () => { changes++ }
const observer = new MutationObserver(changed)
const WATCHED = { subtree: true, childList: true, attributes: true, characterData: true }
const watchedRoots = new WeakSet()
const watch = root => {
  if (watchedRoots.has(root)) return
  watchedRoots.add(root)
  observer.observe(root, WATCHED)
}
const watchPage = () => {
  if (isWatched) return
  isWatched = true
  watch(document)
  for (const kind of ["scroll", "input", "change", "resize"]) addEventListener(kind, changed, { capture: true, passive: true })
}
const epoch = () => {
  if (observer.takeRecords().length) changes++
  return changes
}

// Bits of a node.
const ACTS = 1, IN_VIEW = 2, WORDS = 4, FRAME = 8, BREAKS = 16, WHOLE = 32, GLUED = 64
const MOST_ELEMENTS = 100_000
const MOST_LINES = 100_000
const MOST_MILLISECONDS = 2_000
const DEEPEST = 400
// Elements that can have a closed shadow root beside those of the page's own making.
const HOSTS = new Set("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "))

let told = []
let toldVersion = 0
// Hosts that were looked at, and how they were then.
const lookedAt = new WeakMap()
let suspects = []

const walk = ({ since, boxes, thorough }) => {
  watchPage()
  forgetLabels()
  const lines = []
  const view = { width: innerWidth, height: innerHeight }
  const began = performance.now()
  const focused = activeIn(document)
  const modals = inDocument(document, ":modal")
  const modal = modals.length ? modals[modals.length - 1] : null
  let elements = 0, left = 0, breaks = true, run = "", runIn = null, isRunInView = false
  // Whether words or an element came last, with no space after it.
  let wordsEnd = false, elementEnds = false
  suspects = []

  const put = (depth, id, bits, role, name, value, states, more, box) => {
    if (lines.length >= MOST_LINES) { left++; return }
    if (breaks) bits |= BREAKS
    else if (bits & WORDS ? elementEnds && bits & GLUED : wordsEnd) bits |= GLUED
    else bits &= ~GLUED
    breaks = wordsEnd = elementEnds = false
    lines.push(`${depth}\t${id}\t${bits}\t${role}\t${cut(name)}\t${value && cut(squeeze(value))}\t${states}\t${more}\t${box}`)
  }
  const said = (box, element) => !boxes || !box ? "" : isFrameTag(tagOf(element)) ? contentBoxOf(element, box) : `${Math.round(box.left)},${Math.round(box.top)},${Math.round(box.width)},${Math.round(box.height)}`
  const isInView = box =>
    box.right > 0 && box.bottom > 0 && box.left < view.width && box.top < view.height && box.width > 0 && box.height > 0
  const flush = depth => {
    if (!run) return
    const words = squeeze(run), isOpen = !/\s$/.test(run), isGlued = !/^\s/.test(run)
    run = ""
    if (!words) {
      elementEnds = false
      return
    }
    const inView = isRunInView && isInView(boxOf(runIn)) ? IN_VIEW : 0
    put(depth, idOf(runIn), WORDS | inView | (isGlued ? GLUED : 0), "text", words, "", "", "", "")
    wordsEnd = isOpen
  }
  const close = depth => { flush(depth); breaks = true }

  // What came down from above: how deep, whether inert, whether a name tells it all, whether the
  // pointer is a hand, whether what holds it reaches into view.
  const visit = (element, depth, level, isInert, isNameTold, isHand, maySee) => {
    if (++elements > MOST_ELEMENTS || level > DEEPEST) { left += 1 + countBelow(element); return }
    if ((elements & 1023) === 0 && performance.now() - began > MOST_MILLISECONDS) elements = MOST_ELEMENTS
    const tag = tagOf(element)
    const isBare = !hasAttributes(element)
    if (UNSPOKEN.has(tag) || (!isBare && attributeOf(element, "aria-hidden") === "true")) return
    // Styles are asked one by one, from the top: that is half the price of `checkVisibility`.
    const style = styleOf(element)
    const display = style.display
    if (display === "none" || display === "") return
    // Without a box of its own, or not painted, while what is in it may be.
    const isShown = display !== "contents" && style.visibility === "visible" && !(element instanceof SVGElement && !drawn(element))
    if (modal === element) isInert = false
    else if (!isBare && hasAttribute(element, "inert")) isInert = true
    const role = isShown ? (isBare ? ownRoleOf(element) : roleOf(element)) : ""
    // Words that the page's style gives lines of their own have them.
    const isBlock = BLOCKS.has(tag) || (role === "" && APART.has(display))
    if (isBlock) close(depth)
    if (tag === "br") { run += " "; return }
    let acts = INTERACTIVE.has(role)
    if (acts) isHand = true
    else if (isShown) {
      acts = !isBare && (hasAttribute(element, "onclick") || (hasAttribute(element, "tabindex") && tabIndexOf(element) >= 0) || isEditingHost(element))
      if (!acts && !isNameTold && POINTED_AT.has(tag)) {
        const wasHand = isHand
        isHand = style.cursor === "pointer"
        acts = isHand && !wasHand
      }
    }
    const isEditor = acts && role === "" && isEditable(element)
    const isByContent = NAMED_BY_CONTENT.has(role) || (acts && role === "" && !isEditor)
    let box = null
    if (boxes || (maySee && (isBlock || acts || role))) {
      box = boxOf(element)
      if (isShown) maySee = isInView(box)
    }
    let below = depth
    if (role || acts) {
      const shown = role || (isEditor ? "textbox" : "generic")
      const name = nameOf(element, isByContent)
      if (acts || !SILENT.has(role) || name) {
        flush(depth)
        const bits = (acts && !isInert ? ACTS : 0) | (maySee ? IN_VIEW : 0) | (role === "iframe" ? FRAME : 0) | (isByContent ? WHOLE : 0)
        let states = isBare && !STATED.has(tag) ? "" : statesOf(element, shown, tag)
        if (element === focused && tag !== "body") states += states ? " focused" : "focused"
        if (isInert && acts) states += states ? " inert" : "inert"
        put(depth, idOf(element), bits, shown, name, valueOf(element, shown, tag), states, moreOf(element, role, tag), said(box, element))
        below = depth + 1
        isNameTold = isByContent && name !== ""
      }
      elementEnds = isShown
      if (isEditor || shown === "textbox") return
    }
    if (tag === "select" || isFrameTag(tag) || (!UNCONTAINED.has(display) && style.contentVisibility === "hidden") || holdsUndrawn(element, tag)) return
    const root = shadowOf(element)
    if (root && openRootOf(element)) watch(root)
    // Of a closed one only the summary is drawn.
    const isClosed = tag === "details" && !element.open
    if (below !== depth) elementEnds = false
    const visitChild = child => {
      const type = nodeTypeOf(child)
      if (type === ELEMENT) {
        if (isClosed && tagOf(child) !== "summary") return
        visit(child, below, level + 1, isInert, isNameTold, isHand, maySee)
      } else if (type === TEXT && isShown && !isNameTold && !isClosed) {
        const data = dataOf(child)
        if (run || data.trim() || elementEnds) {
          if (!run) { runIn = element; isRunInView = maySee }
          run += data
        }
      }
    }
    const given = slottedIn(element)
    if (given) given.forEach(visitChild)
    else for (let child = firstChildOf(root ?? element); child; child = nextSiblingOf(child)) visitChild(child)
    if (!root && isShown) suspect(element, tag)
    if (isBlock) close(below)
    else if (below !== depth) {
      flush(below)
      elementEnds = true
    }
  }

  // Whether a closed shadow root may be what is drawn here. Asked of the protocol, for it costs.
  const suspect = (element, tag) => {
    const isOwn = tag.includes("-")
    if (!isOwn && !HOSTS.has(tag)) return
    const how = isOwn && isMatch(element, ":defined") ? 2 : 1
    if ((lookedAt.get(element) ?? 0) >= how && !thorough) return
    if (isOwn || thorough || isStrange(element)) suspects.push(element)
  }

  const top = bodyElement() ?? rootElement()
  if (top) visit(top, 0, 0, modal !== null, false, false, true)
  close(0)
  const head = [
    ++toldVersion, epoch(), suspects.length, left, devicePixelRatio, view.width, view.height,
    Math.round(scrollX), Math.round(scrollY), rootElement()?.scrollWidth ?? 0, rootElement()?.scrollHeight ?? 0,
  ].join("\t")
  // Only what differs from the last time goes over the wire, when the other side has that.
  const before = told
  told = lines
  let same = 0, sameEnd = 0
  if (since !== 0 && since === toldVersion - 1) {
    const most = Math.min(before.length, lines.length)
    while (same < most && before[same] === lines[same]) same++
    while (sameEnd < most - same && before[before.length - 1 - sameEnd] === lines[lines.length - 1 - sameEnd]) sameEnd++
  }
  const fresh = lines.slice(same, lines.length - sameEnd)
  return `${head}\t${same}\t${sameEnd}\n${squeeze(cut(document.title))}\n${location.href}\n${fresh.join("\n")}`
}

// Containers that say nothing unless they are named.
const SILENT = new Set(["group", "rowgroup", "generic"])
// What a page makes clickable beside what is made for it.
const POINTED_AT = new Set("div span li td tr img svg p i b em strong section article figure dt dd".split(" "))
const BLOCKS = new Set(("address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt " +
  "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li " +
  "main menu nav ol optgroup option p pre search section summary table tbody td tfoot th thead tr ul").split(" "))
const APART = new Set(["block", "flow-root", "list-item"])
// What is displayed so cannot hide what it holds by `content-visibility`.
const UNCONTAINED = new Set("inline ruby contents table inline-table table-caption table-row table-row-group table-header-group table-footer-group".split(" "))
// Tags whose elements are in some state without an attribute that says so.
const STATED = new Set("input select textarea button option summary h1 h2 h3 h4 h5 h6 fieldset".split(" "))
// What these hold is drawn only where they themselves cannot be.
const REPLACED = new Set(["audio", "canvas", "meter", "object", "progress", "video"])
const holdsUndrawn = (element, tag) => {
  if (!REPLACED.has(tag)) return false
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (nodeTypeOf(child) === ELEMENT && drawn(child)) return false
  }
  return true
}
const isFrameTag = tag => tag === "iframe" || tag === "frame"
// Where the document in a frame is drawn.
const insetOf = element => {
  const style = styleOf(element)
  const inset = side => Number.parseFloat(style[`border${side}Width`]) + Number.parseFloat(style[`padding${side}`])
  return { left: inset("Left"), top: inset("Top"), right: inset("Right"), bottom: inset("Bottom") }
}
const contentBoxOf = (element, box) => {
  const inset = insetOf(element)
  const edges = [box.left + inset.left, box.top + inset.top, box.width - inset.left - inset.right, box.height - inset.top - inset.bottom]
  return edges.map(Math.round).join()
}
const isEditingHost = element => isEditable(element) && !isEditable(composedParentOf(element))

// Drawn, and nothing of what is known to be in it is.
const contents = document.createRange()
const isStrange = element => {
  let isAnyDrawn = false
  for (let child = firstChildOf(element); child && !isAnyDrawn; child = nextSiblingOf(child)) {
    const type = nodeTypeOf(child)
    if (type === ELEMENT) isAnyDrawn = drawn(child) || styleOf(child).display === "none"
  }
  if (isAnyDrawn) return false
  if (firstChildOf(element)) {
    // Words that are not slotted have no place.
    contents.selectNodeContents(element)
    const isDrawn = contents.getClientRects().length > 0
    contents.selectNodeContents(document)
    if (isDrawn) return false
  }
  const box = boxOf(element)
  return box.width !== 0 && box.height !== 0
}

// Suspects for the protocol to look at, at most so many.
const suspected = most => suspects.splice(0, most).map(element => {
  lookedAt.set(element, isMatch(element, ":defined") ? 2 : 1)
  return element
})
const adopt = (host, root) => {
  closedRoots.set(host, root)
  watch(root)
}
