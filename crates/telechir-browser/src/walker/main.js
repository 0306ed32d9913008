Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, shadowHostCandidates, adopt, aim, aimWithoutScrolling, hitAt, takeEffects, noteListeners, hasFrames, listeningRoots, isShown, scrollState, scrolledState, isReached, outcome, whenReceived, toParentPixel, afterRepaint, whenIdle, stayedIdle, scrollToElement, setValue, fileControl, fileElement, element: find }),
})
