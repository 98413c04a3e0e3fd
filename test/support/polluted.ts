/** Runs `work` while all objects inherit a property `name`, as after prototype pollution. */
export async function polluted<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  Object.defineProperty(Object.prototype, name, {
    value: {},
    configurable: true,
    writable: true,
    enumerable: true,
  })
  try {
    return await work()
  } finally {
    delete (Object.prototype as Record<string, unknown>)[name]
  }
}
