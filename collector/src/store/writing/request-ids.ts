/** The number of ids that are reserved each time the store is opened. */
const IDS_PER_OPENING = 2 ** 32

/**
 * Returns a function that issues request ids.
 *
 * @param opening How often the store has been opened. This number is different in each process. It must be less than 2^21, so
 *   that ids are safe integers.
 */
export function requestIds(opening: number): () => string {
  let last = opening * IDS_PER_OPENING
  return () => {
    last++
    return String(last)
  }
}
