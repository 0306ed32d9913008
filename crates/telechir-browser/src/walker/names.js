// What an element is called, by the rules for accessible names: aria-labelledby, aria-label, the
// element's own label, its content, its tooltip.
const INLINE = new Set(("a abbr b bdi bdo cite code data del dfn em font i img input ins kbd label mark math q s samp " +
  "select small span strong sub sup svg textarea time u var wbr button output slot").split(" "))
// What is never drawn itself, of HTML and of SVG.
const UNSPOKEN = new Set(("script style noscript template head datalist " +
  "defs clipPath mask marker pattern symbol metadata").split(" "))
const MOST_LABELS = 8
const MOST_OF_CONTENT = 1000

// Kept for the next time: to make one costs as much as to ask it.
const styles = new WeakMap()
const styleOf = element => {
  let style = styles.get(element)
  if (!style) styles.set(element, style = getComputedStyle(element))
  return style
}
const PAINTED = { visibilityProperty: true }
const drawn = element => isVisible(element, PAINTED)
// A box is not needed to be read: an element with `display: contents` has none.
const isRead = element =>
  attributeOf(element, "aria-hidden") !== "true" && (drawn(element) || styleOf(element).display === "contents")

// What is drawn in an element: of a slot what it was given, of a host what its shadow root holds.
const slottedIn = element => {
  if (tagOf(element) !== "slot" || !(element instanceof HTMLSlotElement)) return null
  const given = element.assignedNodes()
  return given.length ? given : null
}
const eachChild = (element, visit) => {
  const given = slottedIn(element)
  if (given) return given.forEach(visit)
  for (let child = firstChildOf(shadowOf(element) ?? element); child; child = nextSiblingOf(child)) visit(child)
}

// Labels by their controls, gathered once a walk: asking each control looks through the document.
let labels = new Map()
const gather = root => {
  const found = new Map()
  labels.set(root, found)
  const all = root instanceof Document ? inDocument(root, "label") : root.querySelectorAll("label")
  for (const label of all) {
    const control = label.control
    if (!control) continue
    const others = found.get(control)
    others ? others.push(label) : found.set(control, [label])
  }
  return found
}
const labelsOf = element => {
  const root = rootOf(element)
  if (!(root instanceof Document || root instanceof ShadowRoot)) return []
  return (labels.get(root) ?? gather(root)).get(element) ?? []
}
const forgetLabels = () => { labels = new Map() }

const chosenIn = element => Array.from(element.selectedOptions, option => squeeze(option.text)).join(", ")

// What a control within a label says: what it holds.
const heldBy = element => {
  if (element instanceof HTMLSelectElement) return chosenIn(element)
  if (element instanceof HTMLTextAreaElement) return element.value
  if (element instanceof HTMLInputElement) {
    return ["checkbox", "radio", "hidden", "password", "file"].includes(element.type) ? "" : element.value
  }
  return null
}

const contentOf = (element, whose) => {
  let text = ""
  const visited = new Set()
  const add = (node, isNamedOne) => {
    if (text.length > MOST_OF_CONTENT) return
    const type = nodeTypeOf(node)
    if (type === TEXT) { text += dataOf(node); return }
    if (type !== ELEMENT || node === whose || visited.has(node)) return
    visited.add(node)
    const tag = tagOf(node)
    if (UNSPOKEN.has(tag)) return
    if (tag === "br") { text += " "; return }
    if (!isNamedOne && !isRead(node)) return
    if (!isNamedOne) {
      const label = attributeOf(node, "aria-label")
      if (label?.trim()) { text += ` ${label} `; return }
      if (tag === "img") { text += ` ${attributeOf(node, "alt") ?? ""} `; return }
      if (tag === "svg") { text += ` ${svgTitle(node)} `; return }
      const held = heldBy(node)
      if (held !== null) { text += ` ${held} `; return }
    }
    const apart = INLINE.has(tag) ? "" : " "
    text += apart
    eachChild(node, child => add(child, false))
    text += apart
  }
  add(element, true)
  return squeeze(text)
}

// The words a style puts before and after, which is all that many icons are.
const drawnWordsOf = element => {
  let words = ""
  for (const place of ["::before", "::after"]) {
    const said = /^"(.*)"$/.exec(getComputedStyle(element, place).content)
    if (said) words += ` ${said[1].replace(/\\(.)/g, "$1")}`
  }
  // Icon fonts draw what is no character.
  return squeeze(words.replace(/[\ue000-\uf8ff]/g, ""))
}

const referredBy = (element, attribute) => {
  const ids = attributeOf(element, attribute)
  if (!ids) return ""
  const words = ids.trim().split(/\s+/).slice(0, MOST_LABELS).map(id => {
    const other = elementById(element, id)
    if (!other) return ""
    const label = attributeOf(other, "aria-label")
    if (label?.trim()) return squeeze(label)
    return heldBy(other) ?? contentOf(other, null)
  })
  return squeeze(words.join(" "))
}

const INPUT_WORDS = { submit: "Submit", reset: "Reset", image: "Submit" }
const childOf = (element, type) => {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) if (child instanceof type) return child
  return null
}
const captionOf = (element, type) => {
  const caption = childOf(element, type)
  return caption ? contentOf(caption, null) : ""
}

// What HTML itself gives an element for a name.
const ownNameOf = element => {
  switch (tagOf(element)) {
    case "input":
      if (["button", "submit", "reset"].includes(element.type) && !labelsOf(element).length) {
        return squeeze(element.value) || (INPUT_WORDS[element.type] ?? "")
      }
      if (element.type === "image") {
        return squeeze(element.alt) || squeeze(element.value) || squeeze(element.title) || INPUT_WORDS.image
      }
      // falls through
    case "select": case "textarea": case "button": case "meter": case "progress": case "output": {
      const own = labelsOf(element)
      return own.length ? squeeze(own.slice(0, MOST_LABELS).map(label => contentOf(label, element)).join(" ")) : ""
    }
    case "img": case "area": return squeeze(attributeOf(element, "alt") ?? "")
    case "svg": return svgTitle(element)
    case "fieldset": return captionOf(element, HTMLLegendElement)
    case "table": {
      const caption = childOf(element, HTMLTableCaptionElement)
      return caption ? contentOf(caption, null) : ""
    }
    case "optgroup": return squeeze(element.label)
    case "figure": {
      for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
        if (nodeTypeOf(child) === ELEMENT && tagOf(child) === "figcaption") return contentOf(child, null)
      }
      return ""
    }
    default: return ""
  }
}

const nameOf = (element, isByContent) => {
  const isBare = !hasAttributes(element)
  const label = isBare ? null : attributeOf(element, "aria-label")
  const said = (isBare ? "" : referredBy(element, "aria-labelledby")) || (label ? squeeze(label) : "") || ownNameOf(element)
  if (said) return said
  if (isByContent) {
    const only = firstChildOf(element)
    const isPlain = only && nodeTypeOf(only) === TEXT && !nextSiblingOf(only) && !shadowOf(element)
    const content = isPlain ? squeeze(dataOf(only)) : contentOf(element, null)
    if (content) return content
  }
  const tooltip = isBare ? null : attributeOf(element, "title") ?? attributeOf(element, "placeholder") ?? attributeOf(element, "aria-placeholder")
  if (tooltip) return squeeze(tooltip)
  return isByContent ? drawnWordsOf(element) : ""
}
