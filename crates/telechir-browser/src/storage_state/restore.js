// Replaces the localStorage of an origin, and the databases of the state. `null` in another document
// than that of the origin.
async state => {
  if (location.origin !== state.origin) return null
  const request = made => new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result)
    made.onerror = () => reject(made.error)
    made.onblocked = () => reject(new Error('a page uses the database; close its tabs first'))
  })
  const arrays = {
    i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array,
    i32: Int32Array, ui32: Uint32Array, f32: Float32Array, f64: Float64Array,
    bi64: BigInt64Array, bui64: BigUint64Array,
  }
  const bytes = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0)).buffer
  const numbers = { 'NaN': NaN, 'Infinity': Infinity, '-Infinity': -Infinity, '-0': -0 }
  const decode = (value, seen) => {
    if (typeof value !== 'object' || value === null) return value
    const inner = value => decode(value, seen)
    const remember = made => {
      seen.set(value.id, made)
      return made
    }
    if ('ref' in value) return seen.get(value.ref)
    if ('v' in value) return value.v === 'null' ? null : numbers[value.v]
    if ('d' in value) return new Date(value.d)
    if ('u' in value) return value.u
    if ('bi' in value) return BigInt(value.bi)
    if ('r' in value) return new RegExp(value.r.p, value.r.f)
    if ('e' in value) return Object.assign(new Error(value.e.m), { name: value.e.n, stack: value.e.s })
    if ('ab' in value) return bytes(value.ab.b)
    if ('ta' in value) return new arrays[value.ta.k](bytes(value.ta.b))
    if ('a' in value) {
      const made = remember([])
      for (const item of value.a) made.push(inner(item))
      return made
    }
    if ('m' in value) {
      const made = remember(new Map())
      for (const { k, v } of value.m) made.set(inner(k), inner(v))
      return made
    }
    if ('s' in value) {
      const made = remember(new Set())
      for (const item of value.s) made.add(inner(item))
      return made
    }
    const made = remember({})
    for (const { k, v } of value.o ?? []) made[k] = inner(v)
    return made
  }
  const member = (record, name) =>
    name in record ? record[name] : decode(record[name + 'Encoded'], new Map())
  const restoreDatabase = async ({ name, version, stores }) => {
    await request(indexedDB.deleteDatabase(name))
    const opening = indexedDB.open(name, version)
    opening.onupgradeneeded = () => {
      for (const { name, keyPath, keyPathArray, autoIncrement, indexes } of stores) {
        const options = { keyPath: keyPathArray ?? keyPath ?? null, autoIncrement }
        const store = opening.result.createObjectStore(name, options)
        for (const { name, keyPath, keyPathArray, unique, multiEntry } of indexes ?? []) {
          store.createIndex(name, keyPathArray ?? keyPath, { unique, multiEntry })
        }
      }
    }
    const database = await request(opening)
    try {
      if (!stores.length) return
      const transaction = database.transaction(stores.map(({ name }) => name), 'readwrite')
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve
        transaction.onerror = transaction.onabort = () => reject(transaction.error)
      })
      for (const { name, keyPath, keyPathArray, records } of stores) {
        const store = transaction.objectStore(name)
        for (const record of records ?? []) {
          const value = member(record, 'value')
          keyPathArray ?? keyPath ? store.put(value) : store.put(value, member(record, 'key'))
        }
      }
      await done
    } finally {
      database.close()
    }
  }
  localStorage.clear()
  for (const { name, value } of state.localStorage ?? []) localStorage.setItem(name, value)
  for (const database of state.indexedDB ?? []) await restoreDatabase(database)
  return true
}
