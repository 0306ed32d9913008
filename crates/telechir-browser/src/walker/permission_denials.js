// Permissions and printing that the page requested and was denied, by name, with the number of the
// last denial. Entries stay until the session confirms that it has read them: an answer that
// arrives too late must not lose one.
const denials = new Map()
let denialCount = 0
const recordDenial = name => denials.set(name, ++denialCount)
const currentDenials = () => [denialCount, [...denials.keys()]]
const clearDenials = until => denials.forEach((when, name) => when <= until && denials.delete(name))
addEventListener("beforeprint", () => recordDenial("print"))

// Denying a prompt changes the permission state of the origin, which fires `change`.
const PERMISSIONS = ["geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "window-management", "local-fonts", "idle-detection"]
const permissionStatuses = []
const watchPermission = name => navigator.permissions.query({ name }).then(status => {
  permissionStatuses.push(status)
  status.addEventListener("change", () => { if (status.state === "denied") recordDenial(name) })
}, () => {})
if (isSecureContext && self === top && navigator.permissions) PERMISSIONS.forEach(watchPermission)
// The headless shell shows no prompt and changes no state: there the wrappers in
// setup/headless_shell.js dispatch an event for each denial.
const listenToHeadlessShell = () => PERMISSIONS.forEach(name => addEventListener(`telechir-denied-${name}`, event => {
  event.stopImmediatePropagation()
  recordDenial(name)
}, { capture: true }))
