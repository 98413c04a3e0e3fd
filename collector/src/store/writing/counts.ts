import { BUCKET_MS } from '../buckets.ts'

/** SQL for the name under which an event is counted; empty for kinds of events whose column `name` contains an id. */
export const TALLY_NAME = "CASE WHEN kind IN ('track', 'page', 'screen') THEN coalesce(name, '') ELSE '' END"

/**
 * Statements that count events and deliveries. Each has the columns of the table of the same name.
 *
 * @param events The table `event` or a partition of it.
 * @param deliveries The table `delivery` or a partition of it.
 * @param where A clause for the events; empty = all of them.
 */
export function countsOf(events: string, deliveries: string, where = '') {
  const kind = "coalesce(kind, '') AS kind"
  const reason = "coalesce(event.reason, '') AS reason"
  const bucket = `received_at / ${BUCKET_MS} AS bucket`
  return {
    tally: `SELECT ${bucket}, source_id, ${kind}, ${TALLY_NAME} AS name, ${reason}, count(*) AS count
      FROM ${events} AS event ${where} GROUP BY 1, 2, 3, 4, 5`,
    total: `SELECT source_id, ${kind}, ${reason}, count(*) AS count FROM ${events} AS event ${where} GROUP BY 1, 2, 3`,
    delivery_tally: `SELECT ${bucket}, destination, state,
        CASE WHEN state = 'pending' THEN '' ELSE coalesce(delivery.reason, '') END AS reason, count(*) AS count
      FROM ${deliveries} AS delivery JOIN ${events} AS event ON event.seq = delivery.seq ${where} GROUP BY 1, 2, 3, 4`,
  }
}
