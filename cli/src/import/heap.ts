import { setFlagsFromString } from 'node:v8'

/** V8 reads both whenever the heap may grow, so they also work in a running process. */
const FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=60']

/**
 * Makes V8 collect garbage before it takes more memory. An import needs little memory at a time, but its
 * garbage is many times the size of the file. Without this, the heap would be twice as large, for a few per
 * cent more speed.
 */
export function keepHeapSmall(): void {
  if (process.versions['bun'] === undefined) for (const flag of FLAGS) setFlagsFromString(flag)
}
