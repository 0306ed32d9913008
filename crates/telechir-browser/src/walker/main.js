Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, suspected, adopt, aim, isReached, outcome, hears, through, drawnAgain, rests, restsOn, reveal, setValue, fileControl, fileElement, element: find }),
})
