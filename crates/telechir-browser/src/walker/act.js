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
const isHit = (hit, element) => hit !== null && (isWithin(hit, element) || isLabelOf(hit, element))

// Pixels inside a box and the viewport, the middle first.
const pixelsIn = (box) => {
  const left = Math.max(Math.ceil(box.left), 0), right = Math.min(Math.ceil(box.right) - 1, innerWidth - 1)
  const top = Math.max(Math.ceil(box.top), 0), bottom = Math.min(Math.ceil(box.bottom) - 1, innerHeight - 1)
  if (right < left || bottom < top) return []
  const at = (across, down) => [Math.round(left + (right - left) * across), Math.round(top + (bottom - top) * down)]
  return [at(0.5, 0.5), at(0.25, 0.5), at(0.75, 0.5), at(0.5, 0.2), at(0.5, 0.8), at(0.1, 0.1), at(0.9, 0.9)]
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

// Scrolls the element into view and returns a pixel where it is hit; events are recorded from then on.
const aim = (id, isToPress) => {
  const element = find(id)
  if (!element) return { gone: true }
  if (!isShownSomehow(element)) return { hidden: true }
  const control = hiddenControlOf(element) ?? element
  if (isToPress && isDisabled(control, tagOf(control))) return { disabled: true }
  let covered = null
  // Scrolling uncovers what a fixed bar at the edge covers.
  for (const isScrolled of [false, true]) {
    if (isScrolled) scrollTo(element, { block: "center", inline: "center", behavior: "instant" })
    for (const box of boxesWithLabels(element)) {
      for (const [x, y] of pixelsIn(box)) {
        const hit = deepestAt(x, y)
        if (isHit(hit, element)) {
          clickTrace.expected = element
          clickTrace.events.length = 0
          return { x, y }
        }
        covered ??= hit
      }
    }
  }
  return covered ? { coveredBy: describe(covered) } : { hidden: true }
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
  clickTrace.expected = clickTrace.notify = null
  clickTrace.events.length = 0
  return result
}
// Resolves when the next target receives this kind of event. Called before `aim`: Chromium delivers
// input and paints its effect before it evaluates a later expression.
const whenReceived = kind => new Promise(done => {
  clickTrace.expected = null
  clickTrace.notify = () => {
    if (!clickTrace.events.some(([one, target]) => one === kind && isExpectedTarget(target, clickTrace.expected))) return
    clickTrace.notify = null
    done(receivedEvents())
  }
})

// Maps a pixel of a frame's document to this document.
const toParentPixel = (id, x, y) => {
  const element = find(id)
  if (!element) return { gone: true }
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
