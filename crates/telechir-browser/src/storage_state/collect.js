// The localStorage and IndexedDB of an origin, in the form of Playwright's storage state. `null` in
// another document than that of the origin.
async origin => {
  if (location.origin !== origin) return null
  const request = made => new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result)
    made.onerror = () => reject(made.error)
    made.onblocked = () => reject(new Error('it is in use'))
  })
  const arrays = {
    i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array,
    i32: Int32Array, ui32: Uint32Array, f32: Float32Array, f64: Float64Array,
    bi64: BigInt64Array, bui64: BigUint64Array,
  }
  const base64 = bytes => {
    let text = ''
    for (const byte of bytes) text += String.fromCharCode(byte)
    return btoa(text)
  }
  const isPlain = value => Object.getPrototypeOf(value) === Object.prototype
  // Whether JSON alone keeps the value.
  const isJson = value => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
    if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
    if (typeof value !== 'object') return false
    if (Array.isArray(value)) {
      return Object.keys(value).length === value.length && value.every(isJson)
    }
    return isPlain(value) && Object.values(value).every(isJson)
  }
  const encode = (value, seen) => {
    if (value === undefined) return { v: 'undefined' }
    if (value === null) return { v: 'null' }
    if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
      return { v: Object.is(value, -0) ? '-0' : String(value) }
    }
    if (typeof value === 'bigint') return { bi: String(value) }
    if (typeof value !== 'object') return value
    if (value instanceof Date) return { d: value.toJSON() }
    if (value instanceof RegExp) return { r: { p: value.source, f: value.flags } }
    if (value instanceof Error) return { e: { n: value.name, m: value.message, s: value.stack ?? '' } }
    if (value instanceof ArrayBuffer) return { ab: { b: base64(new Uint8Array(value)) } }
    for (const [k, type] of Object.entries(arrays)) {
      if (value instanceof type) {
        const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
        return { ta: { b: base64(bytes), k } }
      }
    }
    if (seen.has(value)) return { ref: seen.get(value) }
    const id = seen.size + 1
    seen.set(value, id)
    const inner = value => encode(value, seen)
    if (Array.isArray(value)) return { a: Array.from(value, inner), id }
    if (value instanceof Map) return { m: Array.from(value, ([k, v]) => ({ k: inner(k), v: inner(v) })), id }
    if (value instanceof Set) return { s: Array.from(value, inner), id }
    if (!isPlain(value)) throw new TypeError('no form for ' + value.constructor?.name)
    return { o: Object.entries(value).map(([k, v]) => ({ k, v: inner(v) })), id }
  }
  const member = (name, value) =>
    isJson(value) ? { [name]: value } : { [name + 'Encoded']: encode(value, new Map()) }
  const path = keyPath => Array.isArray(keyPath)
    ? { keyPathArray: keyPath }
    : typeof keyPath === 'string' ? { keyPath } : {}
  let leftOut = 0
  const readStore = async (transaction, name) => {
    const store = transaction.objectStore(name)
    const [keys, values] = await Promise.all([request(store.getAllKeys()), request(store.getAll())])
    const records = keys.flatMap((key, index) => {
      try {
        const own = store.keyPath === null ? member('key', key) : {}
        return [{ ...own, ...member('value', values[index]) }]
      } catch {
        leftOut += 1
        return []
      }
    })
    const indexes = Array.from(store.indexNames, name => {
      const { keyPath, multiEntry, unique } = store.index(name)
      return { name, ...path(keyPath), multiEntry, unique }
    })
    return { name, ...path(store.keyPath), autoIncrement: store.autoIncrement, records, indexes }
  }
  const readDatabase = async ({ name, version }) => {
    const database = await request(indexedDB.open(name, version))
    try {
      const names = Array.from(database.objectStoreNames)
      const transaction = names.length ? database.transaction(names) : undefined
      const stores = await Promise.all(names.map(name => readStore(transaction, name)))
      return { name, version, stores }
    } finally {
      database.close()
    }
  }
  const items = Object.keys(localStorage)
  const databases = []
  for (const database of await indexedDB.databases()) databases.push(await readDatabase(database))
  return {
    leftOut,
    state: {
      origin,
      localStorage: items.map(name => ({ name, value: localStorage.getItem(name) })),
      ...(databases.length ? { indexedDB: databases } : {}),
    },
  }
}
