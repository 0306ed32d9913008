// Where elements are shown, with those that have no box of their own: elements with
// `display: contents` are where their content is, areas where their image is.
const contents = document.createRange()
const inContents = (element, read) => {
  contents.selectNodeContents(element)
  const result = read(contents)
  contents.selectNodeContents(document)
  return result
}
const isContents = element => styleOf(element).display === "contents"
const boxOf = element => {
  const box = ownBoxOf(element)
  if (box.width !== 0 || box.height !== 0) return box
  if (tagOf(element) === "area") return areaBoxOf(element) ?? box
  return isContents(element) ? inContents(element, range => range.getBoundingClientRect()) : box
}
const boxesOf = element => {
  const boxes = Array.from(ownBoxesOf(element))
  if (boxes.length) return boxes
  if (tagOf(element) === "area") return [areaBoxOf(element)].filter(box => box)
  return isContents(element) ? inContents(element, range => Array.from(range.getClientRects())) : boxes
}

// The image that uses an area's map.
const imageOf = area => {
  const map = parentOf(area)
  if (!(map instanceof HTMLMapElement) || !map.name) return null
  for (const image of inDocument(document, "img[usemap]")) if (attributeOf(image, "usemap") === `#${map.name}`) return image
  return null
}
const areaBoxOf = area => {
  const image = imageOf(area)
  if (!image || !isDrawn(image)) return null
  const box = ownBoxOf(image)
  const numbers = (attributeOf(area, "coords") ?? "").split(/[\s,;]+/).map(Number).filter(Number.isFinite)
  const shape = (attributeOf(area, "shape") ?? "rect").toLowerCase()
  let [left, top, right, bottom] = [0, 0, box.width, box.height]
  if (shape.startsWith("circ") && numbers.length >= 3) {
    const [x, y, radius] = numbers
    ;[left, top, right, bottom] = [x - radius, y - radius, x + radius, y + radius]
  } else if (shape !== "default" && numbers.length >= 4) {
    const across = numbers.filter((_, at) => at % 2 === 0), down = numbers.filter((_, at) => at % 2 === 1)
    ;[left, top, right, bottom] = [Math.min(...across), Math.min(...down), Math.max(...across), Math.max(...down)]
  }
  return new DOMRect(box.left + left, box.top + top, right - left, bottom - top)
}

// Whether an element is shown, itself or by its content.
const isShownSomehow = element => isDrawn(element) || ((tagOf(element) === "area" || isContents(element)) && boxesOf(element).length > 0)
