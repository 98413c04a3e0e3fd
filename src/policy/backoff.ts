const FIRST_MS = 1_000
const CAP_MS = 60_000

/**
 * Milliseconds to wait after `failures` failures in a row (1 and up): 1 s doubling to 60 s, drawn from the
 * upper half, so 0.5-1 s, 1-2 s, ... 30-60 s. Jittered at the cap too: clients that failed together must
 * not come back together.
 *
 * @param random A number in [0, 1).
 * @see docs/spec.md, section 8
 */
export function backoffMs(failures: number, random: number): number {
  // Clamp the exponent, not only the result: 2 ** 1024 is Infinity.
  const boundMs = Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  return boundMs / 2 + (random * boundMs) / 2
}
