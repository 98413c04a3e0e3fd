/** The number of ids reserved each time a store is opened. */
const IDS_PER_OPENING = 2 ** 32

/**
 * Returns a function that issues request ids.
 *
 * @param opening How often the store has been opened: unique for each process. Below 2^21, or ids would exceed safe integers.
 */
export function requestIds(opening: number): () => string {
  let last = opening * IDS_PER_OPENING
  return () => {
    last++
    return String(last)
  }
}
