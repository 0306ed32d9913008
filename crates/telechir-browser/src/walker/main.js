Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, suspected, adopt, aim, isReached, outcome, through, drawnAgain, reveal, setValue, takeWishes, fileControl, fileElement, element: find }),
})
