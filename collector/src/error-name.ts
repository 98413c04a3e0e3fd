/**
 * For `instanceof` of errors that a store may throw. A CommonJS program has its own copies of their classes, other than those of
 * `trackpost-cluster`, which is an ES module.
 */
export function hasName(value: unknown, name: string): value is Error {
  return typeof value === 'object' && value !== null && (value as Error).name === name
}
