Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, shadowHostCandidates, adopt, aim, isReached, outcome, whenReceived, toParentPixel, afterRepaint, whenIdle, stayedIdle, scrollToElement, setValue, fileControl, fileElement, element: find }),
})
