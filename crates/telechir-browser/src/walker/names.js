// Accessible names by accname 1.2, https://www.w3.org/TR/accname-1.2/, and html-aam 1.0. A letter
// names the step.
// Elements that are never rendered, of HTML and SVG.
const NEVER_RENDERED = new Set(("script style noscript template head datalist " +
  "defs clipPath mask marker pattern symbol metadata").split(" "))
const MAX_LABELS = 8
// Deeper content is left out of a name.
const MAX_NAME_LEVELS = 200
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

// An option shows its `label` if it has one, else its text.
const optionText = option => squeeze(option.label)
const chosenIn = (element, separator = ", ") => Array.from(element.selectedOptions, optionText).join(separator)

// Text that the page's style generates in ::before or ::after: its alternative text, if it has one.
const generatedIn = (element, pseudo) => {
  if (!mayGenerate(element)) return ""
  let known = generated.get(element)
  if (!known) generated.set(element, known = {})
  const style = known[pseudo] ??= getComputedStyle(element, pseudo)
  const content = style.content
  if (content === "none" || content === "normal" || content === "") return ""
  let text = ""
  for (const [token, quoted] of content.matchAll(CONTENT_TOKENS)) {
    if (token === "/") text = ""
    else if (quoted !== undefined) text += quoted.replace(CSS_ESCAPES, (_, hex, other) => hex ? String.fromCodePoint(Number.parseInt(hex, 16) || 0xfffd) : other)
  }
  // Icon fonts draw characters of the private use area.
  text = text.replace(/[\ue000-\uf8ff]/g, "")
  return isInlineDisplay(style.display) ? text : ` ${text} `
}
const generated = new WeakMap()
// The elements that rules of a document or shadow root may give generated text, found once per
// snapshot: asking each element for the styles of its pseudo-elements costs a fifth of a snapshot.
// `null` if any element may have some.
let generating = new Map()
const startNames = () => { generating = new Map() }
const mayGenerate = element => {
  // Quotation marks, and what rules of a shadow root give its host and its slotted elements.
  if (tagOf(element) === "q" || shadowOf(element) || slotOf(element)) return true
  const root = rootOf(element)
  let found = generating.get(root)
  if (found === undefined) generating.set(root, found = generatingIn(root))
  return found === null || found.has(element)
}
const MAX_GENERATING_RULES = 60
const PSEUDO = /::?(?:before|after)\b/
const generatingIn = root => {
  // Constructed stylesheets, usual in shadow roots, cannot be listed safely from this world.
  if (!(root instanceof Document)) return null
  try {
    const selectors = []
    for (const sheet of root.styleSheets) {
      const found = sheet.disabled ? [] : selectorsIn(sheet)
      if (found === null || selectors.push(...found) > MAX_GENERATING_RULES) return null
    }
    return selectors.length ? new Set(root.querySelectorAll(selectors.join())) : new Set()
  } catch {
    // A stylesheet of another site cannot be read.
    return null
  }
}
const knownSheets = new WeakMap()
// The selectors of a stylesheet's rules that generate text; `null` if there are too many, or nested ones.
const selectorsIn = sheet => {
  const rules = sheet.cssRules, known = knownSheets.get(sheet)
  if (known && known.length === rules.length) return known.selectors
  let selectors = []
  const collect = rule => {
    if (selectors === null) return
    if (rule instanceof CSSStyleRule) {
      const content = PSEUDO.test(rule.selectorText) ? rule.style.content : ""
      // Icon fonts draw characters of the private use area.
      if (content && !/^(?:none|normal|"[\s\ue000-\uf8ff]*")$/.test(content)) selectors.push(...partsOf(rule.selectorText))
      // A nested selector is relative to the one around it.
      if (selectors.length > MAX_GENERATING_RULES || Array.from(rule.cssRules).some(inner => PSEUDO.test(inner.cssText))) selectors = null
    } else if (rule instanceof CSSImportRule) {
      const imported = rule.styleSheet ? selectorsIn(rule.styleSheet) : []
      selectors = imported && [...selectors, ...imported]
    } else if (rule.cssRules) Array.from(rule.cssRules).forEach(collect)
  }
  Array.from(rules).forEach(collect)
  knownSheets.set(sheet, { length: rules.length, selectors })
  return selectors
}
// The elements of a selector list whose pseudo-elements are generated.
const partsOf = selector => /[(\[]/.test(selector)
  ? [selector.replace(/::?(?:before|after)\b/g, "")]
  : selector.split(",").filter(part => PSEUDO.test(part)).map(part => part.replace(/::?(?:before|after)\b/, "").trim() || "*")
const CONTENT_TOKENS = /[\w-]+\((?:"(?:[^"\\]|\\.)*"|[^")])*\)|"((?:[^"\\]|\\.)*)"|\//g
const CSS_ESCAPES = /\\(?:([0-9a-f]{1,6}) ?|(.))/gi
const isInlineDisplay = display => display === "inline" || display === "contents" || display.startsWith("ruby")

// 2A: how an element takes part in the text around it.
const READ = 1, CHILDREN_ONLY = 2, SKIPPED = 0
const readingOf = element => {
  if (attributeOf(element, "aria-hidden") === "true") return SKIPPED
  if (isDrawn(element)) return READ
  const { display, visibility } = styleOf(element)
  if (display === "none" || display === "") return SKIPPED
  if (visibility !== "visible") return CHILDREN_ONLY
  return display === "contents" ? READ : SKIPPED
}
// Whether a referenced element is hidden, itself or with an ancestor: then its content is read all the same.
const isHiddenReference = element => {
  for (let at = element; at && nodeTypeOf(at) === ELEMENT; at = composedParentOf(at)) if (attributeOf(at, "aria-hidden") === "true") return true
  if (isDrawn(element)) return false
  const parent = composedParentOf(element)
  const isContents = styleOf(element).display === "contents" && parent && nodeTypeOf(parent) === ELEMENT
  return !isContents || isHiddenReference(parent)
}

const RANGES = new Set(["spinbutton", "slider", "scrollbar", "progressbar", "meter"])
const TYPED = new Set("text search tel url email number range date time month week datetime-local".split(" "))
// 2C: the value of a control inside the name of another one; null if it has none.
const embeddedValueOf = (element, tag, traversal) => {
  const role = attributeOf(element, "role") === null ? "" : roleOf(element)
  if (tag === "select") return role === "" || role === "listbox" || role === "combobox" ? chosenIn(element, " ") : ""
  if (tag === "textarea") return element.value
  const isGauge = tag === "progress" || tag === "meter"
  if (RANGES.has(role) || isGauge || (tag === "input" && element.type === "range")) {
    const value = attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow")
    return value ?? (isGauge || tag === "input" ? String(element.value) : "")
  }
  if (tag === "input") return TYPED.has(element.type) ? element.value : ["password", "file", "hidden"].includes(element.type) ? "" : null
  if (role === "textbox" || role === "searchbox") return contentWithin(element, traversal)
  if (role !== "listbox" && role !== "combobox") return null
  const chosen = []
  for (const list of [element, ...referencedBy(element, attributeOf(element, "aria-owns") ?? "")]) {
    for (const option of selectAll(list, "[role=option][aria-selected=true]")) chosen.push(contentWithin(option, traversal))
  }
  if (chosen.length) return chosen.join(" ")
  const field = role === "combobox" ? selectAll(element, "input, [role=textbox], [role=searchbox]")[0] : null
  if (field) return tagOf(field) === "input" ? field.value : contentWithin(field, traversal)
  return role === "combobox" ? contentWithin(element, traversal) : ""
}

// One computation: the element to name, what it visited, the reference that is being followed, and
// whether hidden content is.
const newTraversal = root => ({ root, visited: new Set(), reference: null, isHidden: false, level: 0, length: 0 })
// 2E: the text that HTML gives a part of a name.
const nativeTextOf = (element, tag) => {
  if (tag === "img" || tag === "area") return attributeOf(element, "alt")
  if (tag === "input") return nameOfInput(element)
  return element instanceof SVGElement ? svgNameOf(element) : ""
}
// The text of an element inside a name.
const partOf = (element, traversal) => {
  const { visited } = traversal
  const tag = tagOf(element)
  // A control divides the text of its own label.
  if (visited.has(element)) return LABELLED_TAGS.has(tag) ? " " : ""
  if (traversal.length > MAX_CONTENT_CHARS || traversal.level >= MAX_NAME_LEVELS) return ""
  if (NEVER_RENDERED.has(tag)) return ""
  if (tag === "br") return " "
  const reading = traversal.isHidden ? READ : readingOf(element)
  if (reading === SKIPPED) return ""
  visited.add(element)
  if (reading === CHILDREN_ONLY) return contentWithin(element, traversal, true)
  let text = null
  // A slot is not exposed, whatever its attributes.
  if (hasAttributes(element) && tag !== "slot") {
    // 2B
    if (traversal.reference === null) text = textOfReferences(element, traversal)
    // 2C, 2D
    if (!text) text = embeddedValueOf(element, tag, traversal) ?? (attributeOf(element, "aria-label")?.trim() || null)
    if (text !== null) return ` ${text} `
    // The items below a tree item have names of their own.
    const role = attributeOf(element, "role")
    if (role === "group" && roleOf(traversal.root) === "treeitem") return ""
    // 2F.i, as browsers limit it
    if (role !== null && traversal.reference !== element && isReadAlone(element)) return " "
  } else if (tag === "select" || tag === "textarea" || tag === "input") return ` ${embeddedValueOf(element, tag, traversal) ?? ""} `
  // 2E
  if (!isPresentational(element)) text = nativeTextOf(element, tag)
  // 2F, 2H
  text ||= contentWithin(element, traversal)
  // 2I
  if (!text.trim() && hasAttributes(element)) text = attributeOf(element, "title") ?? text
  const isInline = isInlineDisplay(styleOf(element).display) && tag !== "img" && tag !== "svg"
  return isInline ? text : ` ${text} `
}
// Widgets and windows with an explicit role, whose content is no part of another name.
const READ_ALONE = new Set(("alert alertdialog application dialog feed grid log marquee menu menubar radiogroup tablist tabpanel " +
  "toolbar tree treegrid").split(" "))
const isReadAlone = element => attributeOf(element, "role") !== null && READ_ALONE.has(roleOf(element))
const isPresentational = element => {
  const role = attributeOf(element, "role")
  return role !== null && /^\s*(none|presentation)\b/i.test(role)
}
// 2F: the content of an element, in the order in which it is rendered.
const contentWithin = (element, traversal, isTextHidden = false) => {
  traversal.level++
  let text = ""
  const add = node => {
    const type = nodeTypeOf(node)
    // 2G
    if (type === ELEMENT) text += partOf(node, traversal)
    else if (type === TEXT && !isTextHidden) {
      text += dataOf(node)
      traversal.length += dataOf(node).length
    }
  }
  if (!isTextHidden && !traversal.isHidden) text += generatedIn(element, "::before")
  eachChild(element, add)
  const owned = hasAttributes(element) ? attributeOf(element, "aria-owns") : null
  if (owned) for (const other of referencedBy(element, owned)) text += ` ${partOf(other, traversal)} `
  if (!isTextHidden && !traversal.isHidden) text += generatedIn(element, "::after")
  traversal.level--
  return text
}
const contentOf = element => {
  const traversal = newTraversal(element)
  traversal.visited.add(element)
  return squeeze(contentWithin(element, traversal))
}
const referencedBy = (element, ids) =>
  ids.trim().split(/\s+/).slice(0, MAX_LABELS).map(id => elementById(element, id)).filter(other => other)

// 2B: the text of the elements that aria-labelledby references.
const textOfReferences = (element, traversal) => {
  const ids = labelledByOf(element)
  if (!ids) return ""
  const read = new Set()
  const text = squeeze(referencedBy(element, ids).map(other => textOfReference(other, traversal, read)).join(" "))
  for (const other of read) traversal.visited.add(other)
  return text
}
// By the attribute's usual misspelling too, as browsers read it.
const labelledByOf = element => attributeOf(element, "aria-labelledby") ?? attributeOf(element, "aria-labeledby")
// The text of an element that names another one: by reference, or as its label or caption. Adds what
// it reads to `read`.
const textOfReference = (element, traversal, read = null) => {
  const { root, visited } = traversal
  const own = { ...newTraversal(root), visited: new Set(visited), reference: element, isHidden: isHiddenReference(element) }
  own.visited.add(root)
  if (element !== root) {
    own.visited.delete(element)
    const text = partOf(element, own)
    if (read !== null) for (const other of own.visited) read.add(other)
    return text
  }
  const tag = tagOf(element)
  const text = attributeOf(element, "aria-label")?.trim() || embeddedValueOf(element, tag, own) || nativeTextOf(element, tag) || contentWithin(element, own)
  // 2I
  return text || (attributeOf(element, "title") ?? "")
}
const textOfLabel = (label, element) => squeeze(textOfReference(label, newTraversal(element)))

const INPUT_DEFAULT_NAMES = { submit: "Submit", reset: "Reset", image: "Submit" }
const childOf = (element, type) => {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) if (child instanceof type) return child
  return null
}
const captionOf = (element, type) => {
  const caption = childOf(element, type)
  return caption ? textOfLabel(caption, element) : ""
}
const textOfLabels = element => {
  const own = labelsOf(element)
  return own.length ? squeeze(own.slice(0, MAX_LABELS).map(label => textOfLabel(label, element)).join(" ")) : ""
}
const nameOfInput = element => {
  const { type } = element
  if (type === "button" || type === "submit" || type === "reset") return squeeze(element.value) || (INPUT_DEFAULT_NAMES[type] ?? "")
  if (type === "image") return squeeze(attributeOf(element, "alt") ?? "") || squeeze(attributeOf(element, "title") ?? "") || INPUT_DEFAULT_NAMES.image
  return ""
}

// 2E: the name that HTML itself gives an element, by html-aam.
const ownNameOf = element => {
  const tag = tagOf(element)
  switch (tag) {
    case "input": return textOfLabels(element) || nameOfInput(element)
    case "select": case "textarea": case "button": case "meter": case "progress": case "output": return textOfLabels(element)
    case "img": case "area": return squeeze(attributeOf(element, "alt") ?? "")
    case "fieldset": return captionOf(element, HTMLLegendElement)
    // The obsolete attribute counts in browsers.
    case "table": return captionOf(element, HTMLTableCaptionElement) || squeeze(attributeOf(element, "summary") ?? "")
    case "optgroup": return squeeze(element.label)
    case "figure": {
      for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
        if (nodeTypeOf(child) === ELEMENT && tagOf(child) === "figcaption") return textOfLabel(child, element)
      }
      return ""
    }
    default: return element instanceof SVGElement ? svgNameOf(element) : tag.includes("-") ? textOfLabels(element) : ""
  }
}

const nameOf = (element, isByContent) => {
  const isBare = !hasAttributes(element)
  const explicit = (isBare ? "" : textOfReferences(element, newTraversal(element)) || squeeze(attributeOf(element, "aria-label") ?? "")) || ownNameOf(element)
  if (explicit) return explicit
  if (isByContent) {
    const content = contentOf(element)
    if (content) return content
  }
  // 2I
  return isBare ? "" : squeeze(attributeOf(element, "title") || attributeOf(element, "placeholder") || attributeOf(element, "aria-placeholder") || "")
}
