/** The names of the methods of these classes, those with symbols left out. */
export function methodsOf(...classes: readonly { readonly prototype: object }[]): string[] {
  const names = classes
    .flatMap(({ prototype }) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)
  // One class overrides what another one has.
  return [...new Set(names)]
}

/**
 * Lets methods be detached from their client: `const { track } = analytics`. Each call looks the method up on the class, so
 * that what patches the class later is heeded.
 */
export function bindMethods(client: object, names: readonly string[]): void {
  const methods = Object.getPrototypeOf(client) as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const value = (...args: unknown[]): unknown => methods[name]?.apply(client, args)
    // Not enumerable, and writable: tests of our users replace methods by their own.
    Object.defineProperty(client, name, { value, writable: true, configurable: true })
  }
}
