/** The number of ids for the requests of one opening. */
const IDS_PER_OPENING = 2 ** 32

/**
 * Returns a function that issues request ids.
 *
 * @param opening A number used by no other issuer of ids for this store; below 2^21, or ids are no longer exact.
 */
export function requestIds(opening: number): () => string {
  let last = opening * IDS_PER_OPENING
  return () => {
    last++
    return String(last)
  }
}
