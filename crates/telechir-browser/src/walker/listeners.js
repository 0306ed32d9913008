Object.defineProperty(globalThis, "telechirEars", { value: Object.freeze({ press, wishesSoFar, hadWishes, hearDenials }) })
