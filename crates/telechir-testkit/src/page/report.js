// Reports every DOM event of this document to the server, in order.
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
    await fetch("/report", { method: "POST", body, headers: { "content-type": "application/json" } })
  }
  sending = false
}
const report = reported => {
  waiting.push(reported)
  send()
}
const valueOf = node => {
  if (node.type === "checkbox" || node.type === "radio") return String(node.checked)
  if (node.type === "file") return Array.from(node.files, file => file.name).join()
  if (node.isContentEditable) return node.textContent
  if (node.id === "scroller") return String(Math.round(node.scrollTop))
  return node.value
}
const observe = (event, within) => {
  const node = within ?? event.composedPath()[0]
  const reported = { target: node.id ?? "" }
  for (const member of MEMBERS) {
    if (event[member] !== undefined && event[member] !== null) reported[member] = event[member]
  }
  const value = valueOf(node)
  if (typeof value === "string") reported.value = value
  report(reported)
}
for (const kind of KINDS) addEventListener(kind, event => observe(event), { capture: true, passive: true })
// A worker polls for commands, because a page with a pending request counts as loading.
const executeCommands = forget => {
  const poll = `onmessage = async () => postMessage(await (await fetch("${location.origin}/commands")).text())`
  const worker = new Worker(URL.createObjectURL(new Blob([poll])))
  worker.onmessage = async ({ data: command }) => {
    if (command === "forget") forget()
    waiting.push({ type: command === "forget" ? "forgotten" : "reported" })
    await send()
    while (sending || waiting.length) await new Promise(done => setTimeout(done, 1))
    worker.postMessage("again")
  }
  worker.postMessage("first")
}
