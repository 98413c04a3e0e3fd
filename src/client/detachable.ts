/** The methods of the emitter. */
const LISTENER_METHODS = [
  'on',
  'once',
  'off',
  'emit',
  'addListener',
  'prependListener',
  'prependOnceListener',
  'removeListener',
  'removeAllListeners',
  'listenerCount',
  'listeners',
  'rawListeners',
  'eventNames',
  'setMaxListeners',
  'getMaxListeners',
]

/** Binds methods to their client, so that they can be detached: `const { track } = analytics`. */
export function bindMethods(client: object, names: readonly string[]): void {
  const methods = client as Record<string, (...args: never[]) => unknown>
  for (const name of [...names, ...LISTENER_METHODS]) {
    // Not enumerable, and writable: tests of our users replace methods by their own.
    const value = methods[name]?.bind(client)
    Object.defineProperty(client, name, { value, writable: true, configurable: true })
  }
}
