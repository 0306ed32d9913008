// Acting on an element: where it can be hit, and whether it received the events.
const deepestAt = (x, y) => {
  let hit = document.elementFromPoint(x, y)
  while (hit) {
    const root = shadowOf(hit)
    const inner = root?.elementFromPoint(x, y)
    if (!inner || inner === hit) return hit
    hit = inner
  }
  return hit
}
// Read for controls only: in a form, `labels` may be a control of that name.
const ownLabelsOf = element => CONTROLS.has(tagOf(element)) ? Array.from(element.labels ?? []) : []
const isLabelOf = (hit, element) => ownLabelsOf(element).some(label => isWithin(hit, label))
const isHit = (hit, element) => hit !== null && (isWithin(hit, element) || isLabelOf(hit, element) || (element instanceof HTMLLabelElement && hit === element.control))

// Pixels inside a box and the viewport, the middle first, then a grid.
const GRID = [0.02, 0.15, 0.35, 0.5, 0.65, 0.85, 0.98]
const pixelsIn = (box) => {
  const left = Math.max(Math.ceil(box.left), 0), right = Math.min(Math.ceil(box.right) - 1, innerWidth - 1)
  const top = Math.max(Math.ceil(box.top), 0), bottom = Math.min(Math.ceil(box.bottom) - 1, innerHeight - 1)
  if (right < left || bottom < top) return []
  const at = (across, down) => [Math.round(left + (right - left) * across), Math.round(top + (bottom - top) * down)]
  return [at(0.5, 0.5), at(0.25, 0.5), at(0.75, 0.5), at(0.5, 0.2), at(0.5, 0.8), ...GRID.flatMap(down => GRID.map(across => at(across, down)))]
}
const describe = hit => {
  if (!hit) return "nothing"
  const role = roleOf(hit)
  const name = nameOf(hit, true) || attributeOf(hit, "id") || ""
  return `${role || tagOf(hit)}${name ? ` ${JSON.stringify(cut(name, 80))}` : ""}`
}

const boxesWithLabels = element => {
  const boxes = [...boxesOf(element)]
  for (const label of ownLabelsOf(element)) boxes.push(...boxesOf(label))
  return boxes
}

// Where an element is scrolled to, in turn: a fixed or sticky bar may cover one place.
const SCROLLS = [null, { block: "center", inline: "center" }, { block: "end", inline: "nearest" }, { block: "start", inline: "nearest" }]
// A pixel where the element is hit now, or why there is none.
const pixelOf = (element, isToPress, isToScroll) => {
  if (!isShownSomehow(element)) return { hidden: true }
  const control = hiddenControlOf(element) ?? element
  if (isToPress && isDisabled(control, tagOf(control))) return { disabled: true }
  let covered = null
  for (const scroll of isToScroll ? SCROLLS : SCROLLS.slice(0, 1)) {
    if (scroll) scrollTo(element, { ...scroll, behavior: "instant" })
    for (const box of boxesWithLabels(element)) {
      for (const [x, y] of pixelsIn(box)) {
        const hit = deepestAt(x, y)
        if (isHit(hit, element)) return { x, y }
        covered ??= hit
      }
    }
  }
  const isCovered = covered && !(isWithin(element, covered) && isClippedAway(element))
  return isCovered ? { coveredBy: describeCover(covered, element) } : { hidden: true }
}
// Whether a box around the element clips all of it.
const isClippedAway = element => {
  const box = boxOf(element)
  for (let at = composedParentOf(element); at && nodeTypeOf(at) === ELEMENT; at = composedParentOf(at)) {
    if (styleOf(at).overflowX === "visible" || at === bodyElement() || at === rootElement()) continue
    const edge = boxOf(at)
    if (box.right <= edge.left || box.left >= edge.right || box.bottom <= edge.top || box.top >= edge.bottom) return true
  }
  return false
}
// The element that covers another one: the dialog that it is in, or what contains it and has a name.
const describeCover = (hit, element) => {
  const dialog = hit instanceof Element ? hit.closest(DIALOGS) : null
  if (dialog && !isWithin(element, dialog)) return describe(dialog)
  for (let at = hit; at && nodeTypeOf(at) === ELEMENT && !isWithin(element, at); at = composedParentOf(at)) {
    if (roleOf(at) && nameOf(at, true)) return describe(at)
  }
  return describe(hit)
}

// A page that changed a moment ago, or animates the element, may be moving it.
const LIVELY_MS = 100
const mayMove = element => {
  epoch()
  if (performance.now() - changedAt < LIVELY_MS) return true
  const targets = animationsIn(document).filter(one => one.playState === "running").map(one => one.effect?.target)
  return targets.some(target => target && isWithin(element, target))
}
const nextFrame = () => new Promise(done => {
  setTimeout(done, MAX_FRAME_MS)
  requestAnimationFrame(() => done())
})
// Hidden pages have no frames.
const MAX_FRAME_MS = 50
const isStill = async element => {
  const before = boxOf(element)
  await nextFrame()
  const now = boxOf(element)
  return ["left", "top", "width", "height"].every(edge => before[edge] === now[edge])
}

// Scrolls the element into view and returns a pixel where it is hit, once it is enabled, uncovered
// and still; after `limit` ms what prevents it. Events are recorded from then on.
const aim = async (id, isToPress, limit) => {
  const deadline = performance.now() + limit
  for (;;) {
    const element = find(id)
    if (!element) return { gone: true }
    const isLate = performance.now() >= deadline
    if (isLate || !mayMove(element) || await isStill(element)) {
      const found = pixelOf(element, isToPress, true)
      if (found.x !== undefined) expect(element, isToPress)
      if (found.x !== undefined || isLate) return found
      await new Promise(done => setTimeout(done, RETRY_MS))
    }
  }
}
const RETRY_MS = 40
const MAX_GUARD_MS = 3_000
const expect = (element, isToPress) => {
  clickTrace.expected = element
  clickTrace.isExpected = isExpectedTarget
  clickTrace.guardedUntil = isToPress ? performance.now() + MAX_GUARD_MS : 0
  clickTrace.pressed = ""
  clickTrace.missed = null
  clickTrace.events.length = 0
  if (isToPress) startEffects(element)
}
// As `aim`, where the element is now.
const aimWithoutScrolling = id => {
  const element = find(id)
  return element ? pixelOf(element, false, false) : { gone: true }
}

// Whether the target received a pointer move since the last call.
const isReached = () => {
  const { expected, events } = clickTrace
  const reached = events.some(([kind, target]) => kind === "mousemove" && isExpectedTarget(target, expected))
  events.length = 0
  return reached
}
// Inside a closed root the event names the host.
const isExpectedTarget = (target, element) =>
  target instanceof Node && (isHit(target, element) || (closedRoots.has(target) && isWithin(element, target)))

// The kinds of events that the target received, and what received others instead.
const receivedEvents = () => {
  const kinds = [], others = []
  if (clickTrace.missed) return { kinds, other: clickTrace.missed instanceof Element ? describeCover(clickTrace.missed, clickTrace.expected) : "the page", missed: true }
  for (const [kind, target] of clickTrace.events) {
    if (kind === "mousemove") continue
    if (isExpectedTarget(target, clickTrace.expected)) kinds.push(kind)
    else others.push(target instanceof Element ? describe(target) : "the page")
  }
  return { kinds, other: others[0] }
}
// The result after the click; ends the trace.
const outcome = () => {
  const result = receivedEvents()
  clickTrace.notify = null
  endTrace()
  return result
}
const endTrace = () => {
  clickTrace.expected = clickTrace.missed = null
  clickTrace.guardedUntil = clickTrace.events.length = 0
}
// Resolves when the next target receives this kind of event. Called before `aim`: Chromium delivers
// input and paints its effect before it evaluates a later expression.
const whenReceived = kind => new Promise(done => {
  endTrace()
  clickTrace.notify = () => {
    if (!clickTrace.events.some(([one, target]) => one === kind && isExpectedTarget(target, clickTrace.expected))) return
    clickTrace.notify = null
    const received = receivedEvents()
    endTrace()
    done(received)
  }
})

// Maps a pixel of a frame's document to this document.
const toParentPixel = (id, x, y) => {
  const element = find(id)
  if (!element) return { gone: true }
  if (isTurned(element)) {
    scrollTo(element, { block: "nearest", inline: "nearest", behavior: "instant" })
    const inset = insetOf(element)
    return { turned: [x / (element.offsetWidth - inset.left - inset.right), y / (element.offsetHeight - inset.top - inset.bottom)] }
  }
  const position = () => {
    const box = boxOf(element), inset = insetOf(element)
    const across = element.offsetWidth ? box.width / element.offsetWidth : 1
    const down = element.offsetHeight ? box.height / element.offsetHeight : 1
    return [Math.round(box.left + (inset.left + x) * across), Math.round(box.top + (inset.top + y) * down)]
  }
  const isIn = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight
  let at = position()
  if (!isIn(at)) {
    scrollTo(element, { block: "nearest", inline: "nearest", behavior: "instant" })
    at = position()
  }
  if (!isIn(at)) {
    scrollBy({ left: at[0] - innerWidth / 2, top: at[1] - innerHeight / 2, behavior: "instant" })
    at = position()
    if (!isIn(at)) return { hidden: true }
  }
  const hit = deepestAt(at[0], at[1])
  return hit === element ? { x: at[0], y: at[1] } : { coveredBy: describe(hit) }
}

// Whether a frame is rotated, skewed or mirrored, so that its box does not say where its pixels are.
const isTurned = element => {
  for (let at = element; at && nodeTypeOf(at) === ELEMENT; at = composedParentOf(at)) {
    const { transform, rotate } = styleOf(at)
    if (rotate && rotate !== "none") return true
    if (!transform || transform === "none") continue
    const { a, b, c, d, is2D } = new DOMMatrixReadOnly(transform)
    if (!is2D || b !== 0 || c !== 0 || a < 0 || d < 0) return true
  }
  return false
}
const hitAt = (id, x, y) => {
  const element = find(id)
  if (!element) return { gone: true }
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return { hidden: true }
  const hit = deepestAt(x, y)
  return hit === element ? { x, y } : { coveredBy: describe(hit) }
}

// Resolves when the last scroll is painted: until then Chromium routes input to the old position.
const afterRepaint = () => new Promise(done => {
  setTimeout(done, MAX_REPAINT_MS)
  requestAnimationFrame(() => requestAnimationFrame(() => done()))
})
const MAX_REPAINT_MS = 500

// Running animations: those that end within MAX_ANIMATION_MS, and the elements in view of the others.
const MAX_ANIMATION_MS = 1_000
const animations = () => {
  const running = animationsIn(document).filter(one => one.playState === "running" && one.timeline instanceof DocumentTimeline)
  const left = one => (one.effect?.getComputedTiming().endTime - one.currentTime) / one.playbackRate
  const isEnding = one => left(one) <= MAX_ANIMATION_MS
  const endless = running.filter(one => !isEnding(one)).map(one => one.effect?.target).filter(target => target)
  for (const video of inDocument(document, "video, marquee")) if (tagOf(video) === "marquee" || !video.paused) endless.push(video)
  return { ending: running.filter(isEnding), endless: endless.filter(element => regionOf([element])) }
}
// The smallest rectangle around the parts of these elements in view: left, top, right, bottom.
const regionOf = elements => {
  let region = null
  for (const element of elements) {
    const box = boxOf(element)
    if (!isDrawn(element) || box.width === 0 || box.height === 0) continue
    const edges = [Math.max(box.left, 0), Math.max(box.top, 0), Math.min(box.right, innerWidth), Math.min(box.bottom, innerHeight)]
    if (edges[0] >= edges[2] || edges[1] >= edges[3]) continue
    region = region ? edges.map((edge, at) => at < 2 ? Math.min(edge, region[at]) : Math.max(edge, region[at])) : edges
  }
  return region?.map((edge, at) => at < 2 ? Math.floor(edge) : Math.ceil(edge)) ?? null
}

// The idle probe has two steps, so that a screenshot can be taken between them. An idle callback
// reports the time until the next frame, the next timer or the end of a 50 ms idle period. It knows
// nothing about frames that are shown.
const FRAME_MS = 1_000 / 60
const IDLE_PERIOD_MS = 50, IDLE_TOLERANCE_MS = 2
// The state when the page had painted everything.
let idleState = null
const showsFrames = () => {
  const found = Array.from(inDocument(document, "iframe, frame"))
  // Frames in shadow roots are not found, but counted.
  return window.length > found.length || found.some(frame => isDrawn(frame) && boxOf(frame).width > 1 && boxOf(frame).height > 1)
}

// Canvases that a page paints again and again, by a few of their pixels in each frame.
const MAX_CANVASES = 4, SAMPLE_PIXELS = 16, MIN_REPAINTS = 2
const watchCanvases = () => {
  const sampled = Array.from(inDocument(document, "canvas")).filter(canvas => regionOf([canvas])).slice(0, MAX_CANVASES)
  const sampler = sampled.length ? new OffscreenCanvas(SAMPLE_PIXELS, SAMPLE_PIXELS).getContext("2d", { willReadFrequently: true }) : null
  const last = [], repaints = sampled.map(() => 0)
  const sample = canvas => {
    try {
      sampler.clearRect(0, 0, SAMPLE_PIXELS, SAMPLE_PIXELS)
      sampler.drawImage(canvas, 0, 0, SAMPLE_PIXELS, SAMPLE_PIXELS)
      return sampler.getImageData(0, 0, SAMPLE_PIXELS, SAMPLE_PIXELS).data.join()
    } catch {
      // Empty, or with pixels of another site.
      return ""
    }
  }
  return {
    look: () => sampled.forEach((canvas, at) => {
      const now = sample(canvas)
      if (last[at] !== undefined && last[at] !== now) repaints[at]++
      last[at] = now
    }),
    repainted: () => sampled.filter((_, at) => repaints[at] >= MIN_REPAINTS),
  }
}

// Waits for ending animations, then returns the time until which nothing is due; null if the page is
// not idle by `latest`. If only endless animations, videos and canvases were painted for `quiet` ms,
// `state.animated` is their region.
const idleUntil = state => new Promise(done => {
  const { latest, quiet } = state
  let seen = epoch(), steadySince = performance.now(), canvases = null
  const draw = () => requestAnimationFrame(() => {
    canvases?.look()
    requestIdleCallback(check, { timeout: quiet })
  })
  const check = idle => {
    const now = performance.now(), left = idle.timeRemaining(), { ending, endless } = animations()
    if (ending.length) return void Promise.allSettled(ending.map(one => one.finished)).then(draw)
    if (!idle.didTimeout && !endless.length && left > FRAME_MS) return done(now + left)
    canvases ??= watchCanvases()
    if (epoch() !== seen) [seen, steadySince] = [epoch(), now]
    const painted = [...endless, ...canvases.repainted()]
    if (painted.length && now - steadySince >= quiet) {
      state.animated = regionOf(painted)
      return done(null)
    }
    if ((idle.didTimeout && !painted.length) || now >= latest + (painted.length ? quiet : 0)) done(null)
    else draw()
  }
  draw()
})
// First step: whether the page has painted everything, and whether nothing is due until `quiet` ms
// after the last input it handled, which was `elapsed` ms ago; else the region that is animated.
const whenIdle = async (quiet, elapsed) => {
  watchPage()
  const latest = performance.now() + quiet
  const now = idleState = { quiet, latest, until: latest - elapsed, due: null, epoch: 0, animated: null }
  if (visibilityOf(document) === "visible" && !showsFrames()) now.due = await idleUntil(now)
  now.epoch = epoch()
  return [now.due !== null, now.due >= now.until, now.animated]
}
// After `wait` ms: the time until which nothing is due; null if something is.
const idleAfter = async (wait, { due, quiet }) => {
  const idle = await new Promise(done => setTimeout(() => requestIdleCallback(done, { timeout: quiet }), wait))
  const left = idle.timeRemaining(), end = performance.now() + left, { ending, endless } = animations()
  if (idle.didTimeout || ending.length || endless.length) return null
  // Little time is left before a frame, or at the end of an idle period, which another one follows.
  const off = Math.abs(end - due) % IDLE_PERIOD_MS
  return left > FRAME_MS || Math.min(off, IDLE_PERIOD_MS - off) < IDLE_TOLERANCE_MS ? end : null
}
// Second step: whether nothing was due until the end of that time, and whether the page is unchanged.
const stayedIdle = async () => {
  const now = idleState
  let isSame = true, wait = 0
  do {
    now.due = await idleAfter(wait, now)
    if (now.due === null) {
      isSame = false
      now.due = await idleUntil(now)
    }
    // The next idle period starts when this one ends.
    wait = now.due - performance.now()
  } while (now.due !== null && now.due < now.until)
  return [now.due !== null, isSame && epoch() === now.epoch]
}

const scrollToElement = id => {
  const element = find(id)
  if (!element) return { gone: true }
  scrollTo(element, { block: "center", inline: "nearest", behavior: "instant" })
  return {}
}

const isShown = id => {
  const element = find(id)
  return element ? { shown: isShownSomehow(element) } : { gone: true }
}

// The closest element that the wheel scrolls, and how far it is scrolled.
const scrollableOf = element => {
  for (let at = element; at && nodeTypeOf(at) === ELEMENT; at = composedParentOf(at)) {
    const { overflowX, overflowY } = styleOf(at)
    const scrolls = overflow => overflow === "auto" || overflow === "scroll"
    if ((scrolls(overflowY) && at.scrollHeight > at.clientHeight) || (scrolls(overflowX) && at.scrollWidth > at.clientWidth)) return at
  }
  return document.scrollingElement ?? rootElement()
}
const scrollState = id => {
  const element = find(id)
  if (!element) return { gone: true }
  const at = scrollableOf(element), isPage = at === document.scrollingElement
  const axis = (scroll, extent, view, name) => extent > view ? `${Math.round(scroll)} of ${Math.round(extent - view)} ${name}` : ""
  const parts = [axis(at.scrollTop, at.scrollHeight, at.clientHeight, "down"), axis(at.scrollLeft, at.scrollWidth, at.clientWidth, "right")]
  const text = parts.filter(part => part).join(" and ")
  return { area: isPage ? "The page" : at === element ? "The element" : `Its ${describe(at)}`, text: text ? `scrolled ${text}` : "not scrollable" }
}
// The state once the scroll has happened and ended, at most MAX_REPAINT_MS after the wheel.
const scrolledState = async (id, before) => {
  const deadline = performance.now() + MAX_REPAINT_MS
  let last = before.text
  for (;;) {
    await nextFrame()
    const now = scrollState(id)
    if (now.gone || performance.now() >= deadline || (now.text === last && now.text !== before.text)) return now
    last = now.text
  }
}
