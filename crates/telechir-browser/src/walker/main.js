Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, suspected, adopt, aim, isReached, outcome, through, drawnAgain, reveal, setValue, element: find }),
})
