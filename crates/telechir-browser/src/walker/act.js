// Acting on an element: where it can be hit, and whether the hit was heard.
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
// A form's own member of this name may be a control of it.
const ownLabelsOf = element => CONTROLS.has(tagOf(element)) ? Array.from(element.labels ?? []) : []
const isLabelOf = (hit, element) => ownLabelsOf(element).some(label => isWithin(hit, label))
const isHit = (hit, element) => hit !== null && (isWithin(hit, element) || isLabelOf(hit, element))

// Whole pixels within a box and the view, the middle first.
const placesIn = (box) => {
  const left = Math.max(Math.ceil(box.left), 0), right = Math.min(Math.ceil(box.right) - 1, innerWidth - 1)
  const top = Math.max(Math.ceil(box.top), 0), bottom = Math.min(Math.ceil(box.bottom) - 1, innerHeight - 1)
  if (right < left || bottom < top) return []
  const at = (across, down) => [Math.round(left + (right - left) * across), Math.round(top + (bottom - top) * down)]
  return [at(0.5, 0.5), at(0.25, 0.5), at(0.75, 0.5), at(0.5, 0.2), at(0.5, 0.8), at(0.1, 0.1), at(0.9, 0.9)]
}
const cover = hit => {
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

// A pixel where the element is hit, brought into view; from then on what is heard is kept.
const aim = (id, isToPress) => {
  const element = find(id)
  if (!element) return { gone: true }
  if (!drawn(element)) return { hidden: true }
  if (isToPress && isDisabled(element, tagOf(element))) return { disabled: true }
  let covered = null
  // What a bar at the edge covers is uncovered by scrolling.
  for (const isScrolled of [false, true]) {
    if (isScrolled) scrollTo(element, { block: "center", inline: "center", behavior: "instant" })
    for (const box of boxesWithLabels(element)) {
      for (const [x, y] of placesIn(box)) {
        const hit = deepestAt(x, y)
        if (isHit(hit, element)) {
          press.expected = element
          press.heard.length = 0
          return { x, y }
        }
        covered ??= hit
      }
    }
  }
  return covered ? { coveredBy: cover(covered) } : { hidden: true }
}

// Whether the pointer was heard over what is aimed at; from then on it is heard anew.
const isReached = () => {
  const { expected, heard } = press
  const reached = heard.some(([kind, target]) => kind === "mousemove" && isOurs(target, expected))
  heard.length = 0
  return reached
}
// Who is within a closed root is not named: its host is.
const isOurs = (target, element) =>
  target instanceof Node && (isHit(target, element) || (closedRoots.has(target) && isWithin(element, target)))

// What came of a press: which events the element heard, and who heard them instead.
const pressed = () => {
  const kinds = [], others = []
  for (const [kind, target] of press.heard) {
    if (kind === "mousemove") continue
    if (isOurs(target, press.expected)) kinds.push(kind)
    else others.push(target instanceof Element ? cover(target) : "the page")
  }
  return { kinds, other: others[0] }
}
// Now that it is over.
const outcome = () => {
  const told = pressed()
  press.expected = press.tell = null
  press.heard.length = 0
  return told
}
// As soon as the element that is aimed at next heard this kind of event. Asked before it is aimed
// at: Chromium gives a page its input, and draws what came of it, before it asks it anything.
const hears = kind => new Promise(done => {
  press.expected = null
  press.tell = () => {
    if (!press.heard.some(([one, target]) => one === kind && isOurs(target, press.expected))) return
    press.tell = null
    done(pressed())
  }
})

// The pixel of this document that a pixel of the document in a frame is at.
const through = (id, x, y) => {
  const element = find(id)
  if (!element) return { gone: true }
  const place = () => {
    const box = boxOf(element), inset = insetOf(element)
    const across = element.offsetWidth ? box.width / element.offsetWidth : 1
    const down = element.offsetHeight ? box.height / element.offsetHeight : 1
    return [Math.round(box.left + (inset.left + x) * across), Math.round(box.top + (inset.top + y) * down)]
  }
  const isIn = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight
  let at = place()
  if (!isIn(at)) {
    scrollTo(element, { block: "nearest", inline: "nearest", behavior: "instant" })
    at = place()
  }
  if (!isIn(at)) {
    scrollBy({ left: at[0] - innerWidth / 2, top: at[1] - innerHeight / 2, behavior: "instant" })
    at = place()
    if (!isIn(at)) return { hidden: true }
  }
  const hit = deepestAt(at[0], at[1])
  return hit === element ? { x: at[0], y: at[1] } : { coveredBy: cover(hit) }
}

// Done when what was scrolled is drawn where it is now; before that a frame's input goes astray.
const drawnAgain = () => new Promise(done => {
  setTimeout(done, MOST_TO_DRAW)
  requestAnimationFrame(() => requestAnimationFrame(() => done()))
})
const MOST_TO_DRAW = 500

// What moves by itself, and for how many ms from now on.
const LONGEST_MOVE = 1_000
const moves = () => {
  const running = animationsIn(document).filter(one => one.playState === "running" && one.timeline instanceof DocumentTimeline)
  const left = one => (one.effect?.getComputedTiming().endTime - one.currentTime) / one.playbackRate
  const ending = running.filter(one => left(one) <= LONGEST_MOVE)
  const plays = Array.from(inDocument(document, "video")).some(video => !video.paused)
  return { ending, isEndless: plays || ending.length < running.length }
}

// Whether the page is still is asked in two steps, so that its picture can be taken between them.
// When it has nothing to do it is told for how long: until the next picture, the next timer, or the
// end of a period of 50 ms. Of frames it knows nothing.
const PICTURE = 1_000 / 60
const PERIOD = 50, BLUR = 2
// How it was when it had drawn all it had to draw.
let calm = null

// Once what moves has moved: until when nothing is due then; null when it was not so by `latest`.
const restsUntil = ({ latest, most }) => new Promise(done => {
  const draw = () => requestAnimationFrame(() => requestIdleCallback(look, { timeout: most }))
  const look = idle => {
    const now = performance.now(), left = idle.timeRemaining(), { ending, isEndless } = moves()
    if (idle.didTimeout || isEndless) done(null)
    else if (ending.length) Promise.allSettled(ending.map(one => one.finished)).then(draw)
    else if (left > PICTURE) done(now + left)
    else if (now >= latest) done(null)
    else draw()
  }
  draw()
})
// The first step: whether it has drawn all it has to draw, and whether it is known already that
// nothing else is due before `most` ms have passed since what it handled so many ms ago.
const rests = async (most, ago) => {
  watchPage()
  const latest = performance.now() + most
  const now = calm = { most, latest, until: latest - ago, due: null, epoch: 0 }
  if (visibilityOf(document) === "visible" && !inDocument(document, "iframe, frame").length) now.due = await restsUntil(now)
  now.epoch = epoch()
  return [now.due !== null, now.due >= now.until]
}
// Looked at after so many ms: until when nothing is due; null when something is.
const restAfter = async (wait, { due, most }) => {
  const idle = await new Promise(done => setTimeout(() => requestIdleCallback(done, { timeout: most }), wait))
  const left = idle.timeRemaining(), end = performance.now() + left, { ending, isEndless } = moves()
  if (idle.didTimeout || ending.length || isEndless) return null
  // Little is left before a picture, and at the end of a period, of which one follows the other.
  const off = Math.abs(end - due) % PERIOD
  return left > PICTURE || Math.min(off, PERIOD - off) < BLUR ? end : null
}
// The second: whether nothing was due before the end of that time, and whether it is as it was then.
const restsOn = async () => {
  const now = calm
  let isSame = true, wait = 0
  do {
    now.due = await restAfter(wait, now)
    if (now.due === null) {
      isSame = false
      now.due = await restsUntil(now)
    }
    // The next period begins when this one ends.
    wait = now.due - performance.now()
  } while (now.due !== null && now.due < now.until)
  return [now.due !== null, isSame && epoch() === now.epoch]
}

const reveal = id => {
  const element = find(id)
  if (!element) return { gone: true }
  scrollTo(element, { block: "center", inline: "nearest", behavior: "instant" })
  return {}
}
