// What the page wanted that only a person may give, and was denied; kept until it is asked for.
const wishes = new Set()
const MOST_WISHES = 16
const takeWishes = () => {
  const taken = [...wishes].slice(0, MOST_WISHES)
  wishes.clear()
  return taken
}
addEventListener("beforeprint", () => wishes.add("print"))

// A prompt that is denied changes the state of its permission for the whole site.
const PERMISSIONS = ["geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "window-management", "local-fonts", "idle-detection"]
const watched = []
const listenFor = name => navigator.permissions.query({ name }).then(status => {
  watched.push(status)
  status.addEventListener("change", () => { if (status.state === "denied") wishes.add(name) })
}, () => {})
if (isSecureContext && self === top && navigator.permissions) PERMISSIONS.forEach(listenFor)
