// What Chromium does for its pages and its shell does not: only what a person did opens a window,
// and what is denied is known to be. It runs in the page's own world, before the page's scripts.
{
  const { apply } = Reflect
  const tell = dispatchEvent.bind(window), Kind = Event
  const say = name => { tell(new Kind(`telechir-denied-${name}`)) }
  const around = (holder, names, how) => {
    for (const name of names) {
      if (typeof holder?.[name] === "function") holder[name] = new Proxy(holder[name], { apply: how })
    }
  }
  const isActive = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(UserActivation.prototype, "isActive").get)
  const activation = navigator.userActivation
  around(window, ["open"], (own, self, given) => isActive(activation) ? apply(own, self, given) : null)

  const then = Function.prototype.call.bind(Promise.prototype.then)
  const NO = ["denied", "default", "prompt"]
  // Of what a promise says: that it is denied, or an answer that is no yes.
  const promised = namesOf => (own, self, given) => {
    const promise = apply(own, self, given)
    const denied = () => namesOf(given).forEach(say)
    then(promise, answer => { if (NO.includes(answer)) denied() },
      error => { if (error?.name === "NotAllowedError") denied() })
    return promise
  }
  const named = name => promised(() => [name])
  around(window.Notification, ["requestPermission"], named("notifications"))
  around(window.IdleDetector, ["requestPermission"], named("idle-detection"))
  around(window.Navigator?.prototype, ["requestMIDIAccess"], named("midi"))
  around(window.Clipboard?.prototype, ["read", "readText"], named("clipboard-read"))
  around(window, ["getScreenDetails"], named("window-management"))
  around(window.MediaDevices?.prototype, ["getUserMedia"], promised(([wanted]) =>
    [wanted?.video && "camera", wanted?.audio && "microphone"].filter(Boolean)))
  const PERMISSION_DENIED = 1
  around(window.Geolocation?.prototype, ["getCurrentPosition", "watchPosition"], (own, self, [found, failed, ...others]) => {
    const heard = error => {
      if (error.code === PERMISSION_DENIED) say("geolocation")
      failed?.(error)
    }
    return apply(own, self, [found, failed == null || typeof failed === "function" ? heard : failed, ...others])
  })
}
