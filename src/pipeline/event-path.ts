import { dset } from 'dset'

/** Paths that were split: plugins use few, again and again. Bounded, because some put ids into them. */
const keysByPath = new Map<string, string[]>()
const MAX_PATHS = 256

/**
 * Sets what lies at a dotted path, and creates the objects on the way to it. A path through `__proto__`,
 * `constructor` or `prototype` is ignored.
 */
export function setAtPath(target: object, path: string, value: unknown): void {
  dset(target, keysOf(path), value)
}

function keysOf(path: string): string[] {
  let keys = keysByPath.get(path)
  if (keys === undefined) {
    keys = path.split('.')
    if (keysByPath.size < MAX_PATHS) keysByPath.set(path, keys)
  }
  return keys
}
