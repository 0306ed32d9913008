// What the page wanted that only a person may give, and was denied: each under when it last was.
// Kept until whoever asked says that the answer came, for it may be too late.
const wishes = new Map()
let wished = 0
const wish = name => wishes.set(name, ++wished)
const wishesSoFar = () => [wished, [...wishes.keys()]]
const hadWishes = until => wishes.forEach((when, name) => when <= until && wishes.delete(name))
addEventListener("beforeprint", () => wish("print"))

// A prompt that is denied changes the state of its permission for the whole site.
const PERMISSIONS = ["geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "window-management", "local-fonts", "idle-detection"]
const watched = []
const listenFor = name => navigator.permissions.query({ name }).then(status => {
  watched.push(status)
  status.addEventListener("change", () => { if (status.state === "denied") wish(name) })
}, () => {})
if (isSecureContext && self === top && navigator.permissions) PERMISSIONS.forEach(listenFor)
// Chromium's shell asks nobody and changes nothing: there, what stands around the page's own
// functions says so.
const hearDenials = () => PERMISSIONS.forEach(name => addEventListener(`telechir-denied-${name}`, event => {
  event.stopImmediatePropagation()
  wish(name)
}, { capture: true }))
