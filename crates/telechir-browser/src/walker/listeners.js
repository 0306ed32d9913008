Object.defineProperty(globalThis, "telechirListeners", { value: Object.freeze({ clickTrace, currentDenials, clearDenials, listenToHeadlessShell }) })
