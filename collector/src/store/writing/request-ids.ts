/** The digits of an id for the requests of one opening. */
const IDS_PER_OPENING = 2 ** 32

/**
 * Gives out request ids, a new one with each call.
 *
 * @param opening A number that nothing else that gives out ids for the same store has: below 2^21, or ids are no longer exact.
 */
export function requestIds(opening: number): () => string {
  let last = opening * IDS_PER_OPENING
  return () => {
    last++
    return String(last)
  }
}
