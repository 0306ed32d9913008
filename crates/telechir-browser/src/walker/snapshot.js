// The page as lines, one per node, parents before their children.
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

// The number of changes since the first reading: mutations, scrolling, input, resizing.
let changes = 0
let changedAt = -1_000
let isWatched = false
const markChanged = () => { changes++ }
const markMutated = records => {
  changes++
  changedAt = performance.now()
  noteEffects(records)
}
const observer = new MutationObserver(markMutated)
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
  for (const kind of ["scroll", "input", "change", "resize", "toggle"]) addEventListener(kind, markChanged, { capture: true, passive: true })
  addEventListener("invalid", noteInvalid, { capture: true, passive: true })
  addEventListener("beforetoggle", noteOpened, { capture: true, passive: true })
}
const epoch = () => {
  const records = observer.takeRecords()
  if (records.length) markMutated(records)
  return changes
}

// Flags of a node, as in snapshot/node.rs.
const INTERACTIVE = 1, IN_VIEW = 2, TEXT_RUN = 4, FRAME = 8, LINE_START = 16, NAMED_BY_CONTENT = 32, JOINED = 64
const MAX_ELEMENTS = 100_000
const MAX_LINES = 100_000
const MAX_WALK_MS = 2_000
const MAX_LEVELS = 400
// Built-in elements that may have a shadow root, beside custom elements.
const SHADOW_HOST_TAGS = new Set("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "))

let lastLines = []
let version = 0
// Hosts that were checked for a closed root: 1 before, 2 after the element was defined.
const checkedHosts = new WeakMap()
let hostCandidates = []
// The shadow roots of the last walk.
let roots = []
const MAX_LISTENING_ROOTS = 200
const hasFrames = () => window.length > 0
// The roots that CDP is asked for the listeners of, one by one, in a document with frames: it must not
// look into a frame's document from here, because it would wrap the nodes there with the classes of
// this document.
const listeningRoots = () => [document, ...roots].slice(0, MAX_LISTENING_ROOTS)

const walk = ({ since, boxes, thorough }) => {
  watchPage()
  forgetLabels()
  const lines = []
  const view = { width: innerWidth, height: innerHeight }
  const started = performance.now()
  const focused = activeIn(document)
  startNames()
  const modals = inDocument(document, ":modal")
  const modal = modals.length ? modals[modals.length - 1] : null
  let elements = 0, left = 0, breaks = true, run = "", runIn = null, isRunInView = false
  // Whether the last emitted item is text or an element with no space after it.
  let textEnds = false, elementEnds = false
  hostCandidates = []
  roots = []

  const emit = (depth, id, bits, role, name, value, states, more, box) => {
    if (lines.length >= MAX_LINES) { left++; return }
    if (breaks) bits |= LINE_START
    else if (bits & TEXT_RUN ? elementEnds && bits & JOINED : textEnds) bits |= JOINED
    else bits &= ~JOINED
    breaks = textEnds = elementEnds = false
    lines.push(`${depth}\t${id}\t${bits}\t${role}\t${cut(name)}\t${value && cut(squeeze(value))}\t${states}\t${more}\t${box}`)
  }
  const boxText = (box, element) => !boxes || !box ? "" : isFrameTag(tagOf(element)) ? contentBoxOf(element, box) : `${Math.round(box.left)},${Math.round(box.top)},${Math.round(box.width)},${Math.round(box.height)}`
  const isInView = box =>
    box.right > 0 && box.bottom > 0 && box.left < view.width && box.top < view.height && box.width > 0 && box.height > 0
  const flush = depth => {
    if (!run) return
    const text = squeeze(run), isOpen = !/\s$/.test(run), isJoined = !/^\s/.test(run)
    run = ""
    if (!text) {
      elementEnds = false
      return
    }
    const inView = isRunInView && isInView(boxOf(runIn)) ? IN_VIEW : 0
    emit(depth, idOf(runIn), TEXT_RUN | inView | (isJoined ? JOINED : 0), "text", text, "", "", "", "")
    textEnds = isOpen
  }
  const close = depth => { flush(depth); breaks = true }

  // `isInert`, `isNamedAbove` (an ancestor's name contains the text), `hasHandCursor` and
  // `mayBeInView` are inherited from the parent.
  // Whether the next element visited is a child of one that handles the clicks of its children.
  let delegated = false
  const visit = (element, depth, level, isInert, isNamedAbove, hasHandCursor, mayBeInView) => {
    if (++elements > MAX_ELEMENTS || level > MAX_LEVELS) { left += 1 + countBelow(element); return }
    if ((elements & 1023) === 0 && performance.now() - started > MAX_WALK_MS) elements = MAX_ELEMENTS
    const tag = tagOf(element)
    const isBare = !hasAttributes(element)
    if (NEVER_RENDERED.has(tag) || (!isBare && attributeOf(element, "aria-hidden") === "true")) return
    // One style property per element, from the top, costs half of `checkVisibility`.
    const style = styleOf(element)
    const display = style.display
    // The style of areas is that of undisplayed elements.
    if ((display === "none" && !(tag === "area" && areaBoxOf(element))) || display === "") return
    // An element that is not painted; its children may be.
    const isShown = style.visibility === "visible" && !(element instanceof SVGElement && !isDrawn(element))
    if (modal === element) isInert = false
    else if (!isBare && hasAttribute(element, "inert")) isInert = true
    const labelled = isShown && tag === "label" ? hiddenControlOf(element) : null
    const role = labelled ? roleOf(labelled) : isShown ? (isBare ? ownRoleOf(element) : roleOf(element)) : ""
    // Text that the page's style puts on its own line starts a line.
    const isBlock = BLOCKS.has(tag) || (role === "" && BLOCK_DISPLAYS.has(display))
    if (isBlock) close(depth)
    if (tag === "br") { run += " "; return }
    let isInteractive = INTERACTIVE_ROLES.has(role) || isPlayer(element, tag), holdsOthers = false
    const isDelegated = delegated
    delegated = false
    const kinds = listening.get(element)
    if (isInteractive) hasHandCursor = true
    else if (isShown) {
      isInteractive = !isBare && (hasAttribute(element, "onclick") || isDraggable(element) || (hasAttribute(element, "tabindex") && tabIndexOf(element) >= 0) || isEditingHost(element))
      if (isInteractive) hasHandCursor ||= style.cursor === "pointer" && !holdsTargets(element)
      else if (!isNamedAbove && mayBeTarget(element, tag)) {
        const hadHandCursor = hasHandCursor
        hasHandCursor = style.cursor === "pointer"
        isInteractive = hasHandCursor && !hadHandCursor
        if (isInteractive && holdsTargets(element)) isInteractive = hasHandCursor = false
        // Nothing shows whether it or what it holds reacts.
        if (isInteractive && !kinds && holdsSeveral(element)) hasHandCursor = false
      }
      if (!isInteractive && kinds && tag !== "body") {
        if (kinds & CLICKS && !holdsTargets(element) && !(isContainerTag(tag) && countBelow(element) > 0)) {
          isInteractive = !hasHandCursor || !isNamedAbove
          holdsOthers = holdsInteractive(element) || textContentOf(element).length > MAX_CARD_CHARS
          if (holdsOthers && countBelow(element) > MAX_CARD_ELEMENTS) isInteractive = false
        } else if (kinds & CLICKS && !SECTION_TAGS.has(tag)) delegated = true
        if (kinds & DROPS && !isInteractive) isInteractive = holdsOthers = true
      }
      if (isDelegated && !isInteractive && !isNamedAbove) {
        if (!mayBeTarget(element, tag)) delegated ||= isContainerTag(tag)
        else isInteractive = countBelow(element) <= MAX_CARD_ELEMENTS && textContentOf(element).trim() !== "" && !holdsInteractive(element)
      }
    }
    if (isNamedAbove && READ_ALONE.has(role) && isReadAlone(element)) isNamedAbove = false
    const isEditor = isInteractive && role === "" && isEditable(element)
    const isByContent = ROLES_NAMED_BY_CONTENT.has(role) || (isInteractive && role === "" && !isEditor && !holdsOthers)
    let box = null
    if (boxes || (mayBeInView && (isBlock || isInteractive || role))) {
      box = boxOf(element)
      if (isShown) mayBeInView = isInView(box)
    }
    let below = depth
    if (role || isInteractive || (!isBare && isShown && !isNamedAbove && isCaptioned(element))) {
      // Links of scripts have no address.
      const shown = role || (isEditor ? "textbox" : tag === "a" && isInteractive ? "link" : "generic")
      const name = labelled ? nameOf(labelled, false) : nameOf(element, isByContent) || (holdsOthers ? headingIn(element) : "")
      const isReported = name ? !(isNamedAbove && role === "graphics-symbol") : !OMITTED_UNNAMED.has(shown) && !(isNamedAbove && OMITTED_BELOW_NAME.has(role))
      if (isInteractive || isReported) {
        flush(depth)
        const bits = (isInteractive && !isInert ? INTERACTIVE : 0) | (mayBeInView ? IN_VIEW : 0) | (role === "iframe" ? FRAME : 0) | (isByContent ? NAMED_BY_CONTENT : 0)
        let states = labelled ? statesOf(labelled, shown, "input") : isBare && !STATEFUL_TAGS.has(tag) ? "" : statesOf(element, shown, tag)
        if (element === focused && tag !== "body") states += states ? " focused" : "focused"
        if (isInert && isInteractive) states += states ? " inert" : "inert"
        if (!isBare && isDraggable(element)) states += states ? " draggable" : "draggable"
        if (kinds & DROPS) states += states ? " droppable" : "droppable"
        emit(depth, idOf(element), bits, shown, name, valueOf(labelled ?? element, shown, labelled ? "input" : tag), states, detailOf(labelled ?? element, role, labelled ? "input" : tag, name), boxText(box, element))
        below = depth + 1
        isNamedAbove ||= isByContent && name !== ""
      }
      elementEnds = isShown
      if (isEditor || shown === "textbox") return
    }
    if (tag === "label" && isShown && namesItsField(element)) isNamedAbove = true
    if (tag === "select" || isFrameTag(tag) || (!UNCONTAINED.has(display) && style.contentVisibility === "hidden") || holdsUndrawn(element, tag)) return
    const root = shadowOf(element)
    if (root) roots.push(root)
    if (root && openRootOf(element)) watch(root)
    // A closed <details> renders only its summary.
    const summary = tag === "details" && !element.open ? summaryOf(element) : undefined
    if (below !== depth) elementEnds = false
    const delegates = delegated
    const visitChild = child => {
      const type = nodeTypeOf(child)
      if (type === ELEMENT) {
        delegated = delegates
        if (summary !== undefined && child !== summary) return
        visit(child, below, level + 1, isInert, isNamedAbove, hasHandCursor, mayBeInView)
      } else if (type === TEXT && isShown && !isNamedAbove && summary === undefined) {
        const data = dataOf(child)
        if (run || data.trim() || elementEnds) {
          if (!run) { runIn = element; isRunInView = mayBeInView }
          run += data
        }
      }
    }
    const assigned = slottedIn(element)
    if (assigned) assigned.forEach(visitChild)
    else for (let child = firstChildOf(root ?? element); child; child = nextSiblingOf(child)) visitChild(child)
    delegated = false
    if (!root && isShown) noteHostCandidate(element, tag)
    if (isBlock) close(below)
    else if (below !== depth) {
      flush(below)
      elementEnds = true
    }
  }

  // Remembers an element that may have a closed shadow root. The check by CDP is expensive.
  const noteHostCandidate = (element, tag) => {
    const isOwn = tag.includes("-")
    if (!isOwn && !SHADOW_HOST_TAGS.has(tag)) return
    const checkLevel = isOwn && isMatch(element, ":defined") ? 2 : 1
    if ((checkedHosts.get(element) ?? 0) >= checkLevel && !thorough) return
    if (isOwn || thorough || mayHaveClosedRoot(element)) hostCandidates.push(element)
  }

  const top = bodyElement() ?? rootElement()
  if (top) visit(top, 0, 0, modal !== null, false, false, true)
  close(0)
  const head = [
    ++version, epoch(), hostCandidates.length, left, devicePixelRatio, view.width, view.height,
    Math.round(scrollX), Math.round(scrollY), rootElement()?.scrollWidth ?? 0, rootElement()?.scrollHeight ?? 0,
  ].join("\t")
  // Sends only the lines that differ from the last snapshot, if the caller has that one.
  const before = lastLines
  lastLines = lines
  let same = 0, sameEnd = 0
  if (since !== 0 && since === version - 1) {
    const max = Math.min(before.length, lines.length)
    while (same < max && before[same] === lines[same]) same++
    while (sameEnd < max - same && before[before.length - 1 - sameEnd] === lines[lines.length - 1 - sameEnd]) sameEnd++
  }
  const fresh = lines.slice(same, lines.length - sameEnd)
  return `${head}\t${same}\t${sameEnd}\t${roots.length}\n${squeeze(cut(document.title))}\n${location.href}\n${fresh.join("\n")}`
}

// Whether an element of which all is clickable only holds several equal ones that are targets each:
// elements with the same tag and some text, and no text beside them.
const holdsTargets = element => {
  // A row is one target with several cells.
  if (tagOf(element) === "tr") return false
  let tag = "", count = 0, first = null
  for (let child = firstChildOf(shadowOf(element) ?? element); child; child = nextSiblingOf(child)) {
    const type = nodeTypeOf(child)
    if (type === TEXT && dataOf(child).trim()) return false
    if (type !== ELEMENT || NEVER_RENDERED.has(tagOf(child)) || readingOf(child) === SKIPPED) continue
    if (count && tagOf(child) !== tag) return false
    count++
    tag = tagOf(child)
    first ??= child
    if (!mayBeTarget(child, tag) || !textContentOf(child).trim()) return false
  }
  return count > 1 || (count === 1 && (hiddenControlOf(first) !== null || holdsTargets(first)))
}
// Whether it holds several elements with text, and no text beside them.
const holdsSeveral = element => {
  let count = 0
  for (let child = firstChildOf(shadowOf(element) ?? element); child; child = nextSiblingOf(child)) {
    const type = nodeTypeOf(child)
    if (type === TEXT && dataOf(child).trim()) return false
    if (type === ELEMENT && !NEVER_RENDERED.has(tagOf(child)) && textContentOf(child).trim()) count++
  }
  return count > 1
}
// What scripts listen to, by element; only CDP knows it, and `noteListeners` adds it.
const listening = new WeakMap()
const CLICKS = 1, DROPS = 2
const noteListeners = (kinds, ...elements) => elements.forEach((element, at) => listening.set(element, kinds[at]))
const isDraggable = element => attributeOf(element, "draggable") === "true"
// An element with a listener that has more than a card handles the events of others.
const MAX_CARD_ELEMENTS = 40
const MAX_CARD_CHARS = 200
// The listeners of these are for the page, not for their children.
const SECTION_TAGS = new Set("html body main header footer aside section form article fieldset".split(" "))
const INTERACTIVE_TAGS = "a[href], button, input, select, textarea, summary, [onclick], [tabindex], [draggable=true], [contenteditable], [role=button], [role=link], [role=checkbox], [role=option], [role=tab], [role^=menuitem]"
const holdsInteractive = element => {
  if (selectAll(element, INTERACTIVE_TAGS).length) return true
  for (const below of elementsIn(element, "*")) if (listening.get(below) & CLICKS) return true
  return false
}
const headingIn = element => {
  const heading = selectAll(element, "h1, h2, h3, h4, h5, h6, legend, [role=heading]")[0]
  return heading ? contentOf(heading) : ""
}
// Containers that are listed only with a name.
const OMITTED_UNNAMED = new Set(["group", "rowgroup", "generic"])
// Whether a field is listed whose name has the text of this label.
const namesItsField = label => {
  const field = label.control
  return field !== null && LABELLED_TAGS.has(tagOf(field)) && isDrawn(field) && !attributeOf(field, "aria-label") && !labelledByOf(field) && roleOf(field) !== "" && !field.closest("[aria-hidden=true]")
}
const LABELLED_TAGS = new Set(["input", "select", "textarea"])

// Whether an element without a role has a name that its content does not tell: an icon, stars.
const isCaptioned = element => isLabelled(element) ? tagOf(element) !== "slot" : hasAttribute(element, "title") && textContentOf(element).trim() === ""
// Listed only with a name, if the name of what contains them has their text.
const OMITTED_BELOW_NAME = new Set(["paragraph", "listitem", "list", "term", "definition", "caption", "blockquote", "figure", "article"])
// Whether a hand cursor makes an element interactive: not a container of other elements, nor a label,
// of which the control is.
const CONTAINER_TAGS = new Set(("html body main nav header footer aside section form fieldset ul ol menu dl table thead tbody tfoot " +
  "article details dialog search address hgroup map label").split(" "))
const isContainerTag = tag => CONTAINER_TAGS.has(tag) && tag !== "section" && tag !== "article"
const mayBeTarget = (element, tag) => {
  if (!CONTAINER_TAGS.has(tag)) return true
  if (tag === "label") return hiddenControlOf(element) !== null || element.control === null
  return tag === "section" || tag === "article" || countBelow(element) === 0
}
const BLOCKS = new Set(("address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt " +
  "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li " +
  "main menu nav ol optgroup option p pre search section summary table tbody td tfoot th thead tr ul").split(" "))
const BLOCK_DISPLAYS = new Set(["block", "flow-root", "list-item"])
// `content-visibility` does not apply to these display values.
const UNCONTAINED = new Set("inline ruby contents table inline-table table-caption table-row table-row-group table-header-group table-footer-group".split(" "))
// Tags whose elements can have a state without any attribute.
const STATEFUL_TAGS = new Set("input select textarea button option summary h1 h2 h3 h4 h5 h6 fieldset".split(" "))
// The children of these are rendered only as fallback.
const REPLACED = new Set(["audio", "canvas", "meter", "object", "progress", "video"])
const holdsUndrawn = (element, tag) => {
  if (!REPLACED.has(tag)) return false
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (nodeTypeOf(child) === ELEMENT && isDrawn(child)) return false
  }
  return true
}
// Whether Chromium draws controls in it.
const isPlayer = (element, tag) => (tag === "video" || tag === "audio") && hasAttribute(element, "controls")
const isFrameTag = tag => tag === "iframe" || tag === "frame"
// Border and padding around a frame's document.
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

// Whether an element is rendered, but none of its known children is.
const mayHaveClosedRoot = element => {
  let isAnyDrawn = false
  for (let child = firstChildOf(element); child && !isAnyDrawn; child = nextSiblingOf(child)) {
    const type = nodeTypeOf(child)
    if (type === ELEMENT) isAnyDrawn = isDrawn(child) || styleOf(child).display === "none"
  }
  if (isAnyDrawn) return false
  if (firstChildOf(element)) {
    // Text that is not slotted has no rectangles.
    if (inContents(element, range => range.getClientRects().length > 0)) return false
  }
  const box = boxOf(element)
  return box.width !== 0 && box.height !== 0
}

// Takes up to `max` candidates, which the session then describes by CDP.
const shadowHostCandidates = max => hostCandidates.splice(0, max).map(element => {
  checkedHosts.set(element, isMatch(element, ":defined") ? 2 : 1)
  return element
})
const adopt = (host, root) => {
  closedRoots.set(host, root)
  watch(root)
}
