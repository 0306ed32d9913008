Object.defineProperty(globalThis, "telechirWalker", {
  value: Object.freeze({ walk, epoch, suspected, adopt, aim, outcome, through, reveal, setValue, element: find }),
})
