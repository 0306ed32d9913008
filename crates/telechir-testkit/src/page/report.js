// Tells the server every DOM event of this document, in order.
const KINDS = ["mousedown", "mouseup", "mousemove", "mouseover", "click", "dblclick", "auxclick", "contextmenu", "wheel",
  "keydown", "keyup", "input", "change", "submit", "scroll", "close", "focusin", "dragstart", "dragover", "drop", "dragend"]
const MEMBERS = ["type", "clientX", "clientY", "button", "buttons", "detail", "key", "code", "repeat",
  "ctrlKey", "altKey", "shiftKey", "metaKey", "deltaX", "deltaY", "isTrusted"]
let waiting = []
let sending = false
const send = async () => {
  if (sending) return
  sending = true
  while (waiting.length) {
    const body = JSON.stringify(waiting.splice(0))
    await fetch("/heard", { method: "POST", body, headers: { "content-type": "application/json" } })
  }
  sending = false
}
const report = told => {
  waiting.push(told)
  send()
}
const valueOf = node => {
  if (node.type === "checkbox" || node.type === "radio") return String(node.checked)
  if (node.type === "file") return Array.from(node.files, file => file.name).join()
  if (node.isContentEditable) return node.textContent
  if (node.id === "scroller") return String(Math.round(node.scrollTop))
  return node.value
}
const hear = (event, within) => {
  const node = within ?? event.composedPath()[0]
  const told = { target: node.id ?? "" }
  for (const member of MEMBERS) {
    if (event[member] !== undefined && event[member] !== null) told[member] = event[member]
  }
  const value = valueOf(node)
  if (typeof value === "string") told.value = value
  report(told)
}
for (const kind of KINDS) addEventListener(kind, event => hear(event), { capture: true, passive: true })
// Orders are waited for in a worker: a page that waits for an answer counts as loading.
const obey = forget => {
  const ask = `onmessage = async () => postMessage(await (await fetch("${location.origin}/orders")).text())`
  const worker = new Worker(URL.createObjectURL(new Blob([ask])))
  worker.onmessage = async ({ data: order }) => {
    if (order === "forget") forget()
    waiting.push({ type: order === "forget" ? "forgotten" : "reported" })
    await send()
    while (sending || waiting.length) await new Promise(done => setTimeout(done, 1))
    worker.postMessage("again")
  }
  worker.postMessage("first")
}
