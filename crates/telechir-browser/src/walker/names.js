// Accessible names: aria-labelledby, aria-label, the native label, the content, the tooltip.
const INLINE = new Set(("a abbr b bdi bdo cite code data del dfn em font i img input ins kbd label mark math q s samp " +
  "select small span strong sub sup svg textarea time u var wbr button output slot").split(" "))
// Elements that are never rendered, of HTML and SVG.
const NEVER_RENDERED = new Set(("script style noscript template head datalist " +
  "defs clipPath mask marker pattern symbol metadata").split(" "))
const MAX_LABELS = 8
const MAX_CONTENT_CHARS = 1000

// Cached: creating a style costs as much as reading it.
const styles = new WeakMap()
const styleOf = element => {
  let style = styles.get(element)
  if (!style) styles.set(element, style = getComputedStyle(element))
  return style
}
const PAINTED = { visibilityProperty: true }
const isDrawn = element => isVisible(element, PAINTED)
// An element with `display: contents` has no box, but its content is read.
const isRead = element =>
  attributeOf(element, "aria-hidden") !== "true" && (isDrawn(element) || styleOf(element).display === "contents")

// The rendered children: of a slot the assigned nodes, of a host its shadow root's children.
const slottedIn = element => {
  if (tagOf(element) !== "slot" || !(element instanceof HTMLSlotElement)) return null
  const assigned = element.assignedNodes()
  return assigned.length ? assigned : null
}
const eachChild = (element, visit) => {
  const assigned = slottedIn(element)
  if (assigned) return assigned.forEach(visit)
  for (let child = firstChildOf(shadowOf(element) ?? element); child; child = nextSiblingOf(child)) visit(child)
}

// Labels by control, collected once per snapshot: `control.labels` searches the document each time.
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

// The value of a control inside a label, which is part of the label's name.
const controlValueOf = element => {
  if (element instanceof HTMLSelectElement) return chosenIn(element)
  if (element instanceof HTMLTextAreaElement) return element.value
  if (element instanceof HTMLInputElement) {
    return ["checkbox", "radio", "hidden", "password", "file"].includes(element.type) ? "" : element.value
  }
  return null
}

const contentOf = (element, skipped) => {
  let text = ""
  const visited = new Set()
  const add = (node, isNamedOne) => {
    if (text.length > MAX_CONTENT_CHARS) return
    const type = nodeTypeOf(node)
    if (type === TEXT) { text += dataOf(node); return }
    if (type !== ELEMENT || node === skipped || visited.has(node)) return
    visited.add(node)
    const tag = tagOf(node)
    if (NEVER_RENDERED.has(tag)) return
    if (tag === "br") { text += " "; return }
    if (!isNamedOne && !isRead(node)) return
    if (!isNamedOne) {
      const label = attributeOf(node, "aria-label")
      if (label?.trim()) { text += ` ${label} `; return }
      if (tag === "img") { text += ` ${attributeOf(node, "alt") ?? ""} `; return }
      if (tag === "svg") { text += ` ${svgTitle(node)} `; return }
      const value = controlValueOf(node)
      if (value !== null) { text += ` ${value} `; return }
    }
    const separator = INLINE.has(tag) ? "" : " "
    text += separator
    eachChild(node, child => add(child, false))
    text += separator
  }
  add(element, true)
  return squeeze(text)
}

// Text of the ::before and ::after pseudo-elements, the only content of many icons.
const generatedTextOf = element => {
  let text = ""
  for (const pseudo of ["::before", "::after"]) {
    const quoted = /^"(.*)"$/.exec(getComputedStyle(element, pseudo).content)
    if (quoted) text += ` ${quoted[1].replace(/\\(.)/g, "$1")}`
  }
  // Icon fonts draw characters of the private use area.
  return squeeze(text.replace(/[\ue000-\uf8ff]/g, ""))
}

const textOfReferences = (element, attribute) => {
  const ids = attributeOf(element, attribute)
  if (!ids) return ""
  const names = ids.trim().split(/\s+/).slice(0, MAX_LABELS).map(id => {
    const other = elementById(element, id)
    if (!other) return ""
    const label = attributeOf(other, "aria-label")
    if (label?.trim()) return squeeze(label)
    return controlValueOf(other) ?? contentOf(other, null)
  })
  return squeeze(names.join(" "))
}

const INPUT_DEFAULT_NAMES = { submit: "Submit", reset: "Reset", image: "Submit" }
const childOf = (element, type) => {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) if (child instanceof type) return child
  return null
}
const captionOf = (element, type) => {
  const caption = childOf(element, type)
  return caption ? contentOf(caption, null) : ""
}

// The name that HTML itself gives an element.
const ownNameOf = element => {
  switch (tagOf(element)) {
    case "input":
      if (["button", "submit", "reset"].includes(element.type) && !labelsOf(element).length) {
        return squeeze(element.value) || (INPUT_DEFAULT_NAMES[element.type] ?? "")
      }
      if (element.type === "image") {
        return squeeze(element.alt) || squeeze(element.value) || squeeze(element.title) || INPUT_DEFAULT_NAMES.image
      }
      // falls through
    case "select": case "textarea": case "button": case "meter": case "progress": case "output": {
      const own = labelsOf(element)
      return own.length ? squeeze(own.slice(0, MAX_LABELS).map(label => contentOf(label, element)).join(" ")) : ""
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
  const explicit = (isBare ? "" : textOfReferences(element, "aria-labelledby")) || (label ? squeeze(label) : "") || ownNameOf(element)
  if (explicit) return explicit
  if (isByContent) {
    const only = firstChildOf(element)
    const isPlain = only && nodeTypeOf(only) === TEXT && !nextSiblingOf(only) && !shadowOf(element)
    const content = isPlain ? squeeze(dataOf(only)) : contentOf(element, null)
    if (content) return content
  }
  const tooltip = isBare ? null : attributeOf(element, "title") ?? attributeOf(element, "placeholder") ?? attributeOf(element, "aria-placeholder")
  if (tooltip) return squeeze(tooltip)
  return isByContent ? generatedTextOf(element) : ""
}
