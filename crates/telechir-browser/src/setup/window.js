// Printing is disabled in a window, because its dialog would cover the page, and Chromium then
// fires no print events. This fires them as in a browser without a window, for the page and for the
// walker.
{
  const dispatch = dispatchEvent.bind(window)
  print = new Proxy(print, {
    apply(print, self, given) {
      for (const kind of ["beforeprint", "afterprint"]) dispatch(new Event(kind))
      return Reflect.apply(print, self, given)
    },
  })
}
