// Access to DOM members through their prototypes. A page cannot reach the prototypes of this
// isolated world, but the named controls of a form or document hide its own members, so no member
// is read from an arbitrary element directly.
const uncurried = method => Function.prototype.call.bind(method)
const reader = (prototype, member) =>
  uncurried(Object.getOwnPropertyDescriptor(prototype, member).get)

const nodeTypeOf = reader(Node.prototype, "nodeType")
const firstChildOf = reader(Node.prototype, "firstChild")
const nextSiblingOf = reader(Node.prototype, "nextSibling")
const parentOf = reader(Node.prototype, "parentNode")
const textContentOf = reader(Node.prototype, "textContent")
const isConnectedNow = reader(Node.prototype, "isConnected")
const rootOf = uncurried(Node.prototype.getRootNode)
const containsNode = uncurried(Node.prototype.contains)
const tagOf = reader(Element.prototype, "localName")
const attributeOf = uncurried(Element.prototype.getAttribute)
const hasAttribute = uncurried(Element.prototype.hasAttribute)
const hasAttributes = uncurried(Element.prototype.hasAttributes)
const selectAll = uncurried(Element.prototype.querySelectorAll)
const elementsIn = uncurried(Element.prototype.getElementsByTagName)
const countBelow = element => elementsIn(element, "*").length
const previousElementOf = reader(Element.prototype, "previousElementSibling")
const nextElementOf = reader(Element.prototype, "nextElementSibling")
const slotOf = reader(Element.prototype, "assignedSlot")
const openRootOf = reader(Element.prototype, "shadowRoot")
const ownBoxOf = uncurried(Element.prototype.getBoundingClientRect)
const ownBoxesOf = uncurried(Element.prototype.getClientRects)
const scrollTo = uncurried(Element.prototype.scrollIntoView)
const isMatch = uncurried(Element.prototype.matches)
const isVisible = uncurried(Element.prototype.checkVisibility)
const htmlTabIndexOf = reader(HTMLElement.prototype, "tabIndex")
const svgTabIndexOf = reader(SVGElement.prototype, "tabIndex")
const tabIndexOf = element =>
  element instanceof HTMLElement ? htmlTabIndexOf(element) : element instanceof SVGElement ? svgTabIndexOf(element) : -1
const isEditableHtml = reader(HTMLElement.prototype, "isContentEditable")
const isEditable = element => element instanceof HTMLElement && isEditableHtml(element)
const focusOn = uncurried(HTMLElement.prototype.focus)
const byId = uncurried(Document.prototype.getElementById)
const byIdInRoot = uncurried(DocumentFragment.prototype.getElementById)
const visibilityOf = reader(Document.prototype, "visibilityState")
const animationsIn = uncurried(Document.prototype.getAnimations)
const inDocument = uncurried(Document.prototype.querySelectorAll)
const rootElement = () => reader(Document.prototype, "documentElement")(document)
const bodyElement = () => reader(Document.prototype, "body")(document)
const activeIn = reader(Document.prototype, "activeElement")
const dataOf = reader(CharacterData.prototype, "data")

const ELEMENT = 1
const TEXT = 3

// Closed shadow roots, which only CDP can reach; `adopt` adds them.
const closedRoots = new WeakMap()
const shadowOf = element => openRootOf(element) ?? closedRoots.get(element) ?? null

const elementById = (node, id) => {
  const root = rootOf(node)
  return root instanceof Document ? byId(root, id) : root instanceof ShadowRoot ? byIdInRoot(root, id) : null
}

// The parent in the rendered tree: of a slotted child its host.
const composedParentOf = node => {
  const parent = parentOf(node)
  return parent instanceof ShadowRoot ? parent.host : parent
}
const isWithin = (node, ancestor) => {
  for (let at = node; at; at = composedParentOf(at)) if (at === ancestor) return true
  return false
}

// Control and format characters that hide or reorder text, or smuggle it past a reader.
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]/gu
const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/
const squeeze = text => {
  if (PLAIN.test(text)) return text
  return text.toWellFormed().replace(INVISIBLE, "").replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim()
}

const MAX_TEXT_CHARS = 300
let segmenter
// Cuts at a grapheme boundary.
const cut = (text, length = MAX_TEXT_CHARS) => {
  if (text.length <= length) return text
  segmenter ??= new Intl.Segmenter()
  const end = segmenter.segment(text.slice(0, length + 64)).containing(length)?.index ?? length
  return text.slice(0, end) + "\u2026"
}
