// Adds to the headless shell what Chromium itself does: `open` works only after a user action, and
// denied permissions are reported. Runs in the page's own world, before the page's scripts.
{
  const { apply } = Reflect
  const dispatch = dispatchEvent.bind(window), Kind = Event
  const reportDenial = name => { dispatch(new Kind(`telechir-denied-${name}`)) }
  const wrap = (owner, names, handler) => {
    for (const name of names) {
      if (typeof owner?.[name] === "function") owner[name] = new Proxy(owner[name], { apply: handler })
    }
  }
  const isActive = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(UserActivation.prototype, "isActive").get)
  const activation = navigator.userActivation
  wrap(window, ["open"], (original, self, args) => isActive(activation) ? apply(original, self, args) : null)

  const then = Function.prototype.call.bind(Promise.prototype.then)
  const NO = ["denied", "default", "prompt"]
  // Reports a denial if the promise rejects with NotAllowedError or resolves to one of these.
  const watchPromise = namesOf => (original, self, args) => {
    const promise = apply(original, self, args)
    const denied = () => namesOf(args).forEach(reportDenial)
    then(promise, answer => { if (NO.includes(answer)) denied() },
      error => { if (error?.name === "NotAllowedError") denied() })
    return promise
  }
  const deniedIf = name => watchPromise(() => [name])
  wrap(window.Notification, ["requestPermission"], deniedIf("notifications"))
  wrap(window.IdleDetector, ["requestPermission"], deniedIf("idle-detection"))
  wrap(window.Navigator?.prototype, ["requestMIDIAccess"], deniedIf("midi"))
  wrap(window.Clipboard?.prototype, ["read", "readText"], deniedIf("clipboard-read"))
  wrap(window, ["getScreenDetails"], deniedIf("window-management"))
  wrap(window.MediaDevices?.prototype, ["getUserMedia"], watchPromise(([wanted]) =>
    [wanted?.video && "camera", wanted?.audio && "microphone"].filter(Boolean)))
  const PERMISSION_DENIED = 1
  wrap(window.Geolocation?.prototype, ["getCurrentPosition", "watchPosition"], (original, self, [found, failed, ...others]) => {
    const onError = error => {
      if (error.code === PERMISSION_DENIED) reportDenial("geolocation")
      failed?.(error)
    }
    return apply(original, self, [found, failed == null || typeof failed === "function" ? onError : failed, ...others])
  })
}
