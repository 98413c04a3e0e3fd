const IDS_PER_OPENING = 2 ** 32

/**
 * @param opening A number that is different in each process, such as how often the store has been opened. It must be less than
 *   2^21, so that ids are safe integers.
 */
export function requestIds(opening: number): () => string {
  let last = opening * IDS_PER_OPENING
  return () => {
    last++
    return String(last)
  }
}
