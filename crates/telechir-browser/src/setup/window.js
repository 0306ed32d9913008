// In a window Chromium may not print, or its dialog would be put over the page; then it tells the
// page nothing either. With this the page hears what it hears where there is no window, and so do
// we.
{
  const say = dispatchEvent.bind(window)
  print = new Proxy(print, {
    apply(print, self, given) {
      for (const kind of ["beforeprint", "afterprint"]) say(new Event(kind))
      return Reflect.apply(print, self, given)
    },
  })
}
