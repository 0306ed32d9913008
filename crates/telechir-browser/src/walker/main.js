Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, suspected, adopt, aim, isReached, outcome, through, drawnAgain, still, reveal, setValue, wishesSoFar, hadWishes, hearDenials, fileControl, fileElement, element: find }),
})
