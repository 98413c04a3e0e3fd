/** The names of the methods of these classes, those with symbols left out. */
export function methodsOf(...classes: readonly { readonly prototype: object }[]): string[] {
  const names = classes
    .flatMap(({ prototype }) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)
  // One class overrides what another one has.
  return [...new Set(names)]
}

/** Binds methods to their client, so that they can be detached: `const { track } = analytics`. */
export function bindMethods(client: object, names: readonly string[]): void {
  const methods = client as Record<string, (...args: never[]) => unknown>
  for (const name of names) {
    // Not enumerable, and writable: tests of our users replace methods by their own.
    const value = methods[name]?.bind(client)
    Object.defineProperty(client, name, { value, writable: true, configurable: true })
  }
}
