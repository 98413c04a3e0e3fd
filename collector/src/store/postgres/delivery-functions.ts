import { BUCKET_MS } from '../buckets.ts'
import { CHANNEL, SETTINGS } from './functions.ts'

/** Attempts that are kept for each event and destination, the one in the row of the delivery included. */
const ATTEMPTS_KEPT = 20

/**
 * What functions on deliveries begin with: for each day of the numbers, the rows locked in one order. One day at a time: a statement
 * that may meet all days has a plan with all partitions, and takes the longer, the more days are kept.
 */
const LOCK_DELIVERIES = `
  days := ARRAY(SELECT day_of(given.seq) FROM unnest(seqs) WITH ORDINALITY AS given (seq, nth) ORDER BY given.nth);
  FOR the_day IN SELECT DISTINCT given.day FROM unnest(days) AS given (day) WHERE given.day IS NOT NULL ORDER BY 1 LOOP
  PERFORM 1 FROM unnest(seqs, days) AS given (seq, day)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    ORDER BY delivery.seq FOR UPDATE OF delivery;`

/** Of the deliveries that are locked all but the newest attempts are deleted. */
const TRIM_ATTEMPTS = `
  DELETE FROM attempt USING unnest(seqs, days) AS given (seq, day)
    WHERE attempt.seq = given.seq AND given.day = the_day AND attempt.day = the_day AND attempt.destination = target
      AND (attempt.at, attempt.attempt) < (
        SELECT newer.at, newer.attempt FROM attempt AS newer
        WHERE newer.seq = given.seq AND newer.day = the_day AND newer.destination = target
        ORDER BY newer.at DESC, newer.attempt DESC LIMIT 1 OFFSET ${ATTEMPTS_KEPT - 2});`

/** Adds to the counts what left one state and came into another: the rows of `moved`. */
const COUNT_MOVED = `
  INSERT INTO delivery_tally (bucket, destination, state, reason, count)
    SELECT bucket, target, state, min(reason), sum(change) FROM (
      SELECT moved.bucket, moved.old_state AS state,
        CASE WHEN moved.old_state = 'pending' THEN '' ELSE coalesce(moved.old_reason, '') END AS reason, -1 AS change FROM moved
      UNION ALL
      SELECT moved.bucket, moved.new_state,
        CASE WHEN moved.new_state = 'pending' THEN '' ELSE coalesce(moved.new_reason, '') END, 1 FROM moved
    ) AS changes GROUP BY bucket, state, brief(reason) HAVING sum(change) <> 0 ORDER BY bucket, state, brief(min(reason))
    ON CONFLICT (bucket, destination, state, brief(reason)) DO UPDATE SET count = delivery_tally.count + excluded.count;`

const TELL_OUTCOMES = `
  UPDATE log_revision SET revision = revision + 1;
  PERFORM pg_notify('${CHANNEL}', '');`

/**
 * Writes down what attempts came to. What was settled by somebody else meanwhile, or deleted, is left alone. The last attempt is in
 * the row of the delivery itself, so that one that succeeds at once costs no further row.
 */
const SETTLE = `
CREATE FUNCTION settle(
  target text, seqs bigint[], states text[], reasons text[], attempt_counts integer[], due_ats bigint[], ats bigint[],
  durations integer[]
) RETURNS void LANGUAGE plpgsql ${SETTINGS} AS $settle$
DECLARE
  days date[];
  the_day date;
BEGIN${LOCK_DELIVERIES}
  INSERT INTO attempt (day, seq, destination, at, attempt, ms, result, reason)
    SELECT delivery.day, delivery.seq, target, delivery.last_at, given.attempts - 1, coalesce(delivery.last_ms, 0), 'retry',
      delivery.reason
    FROM unnest(seqs, days, attempt_counts, ats) AS given (seq, day, attempts, at)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    -- The same attempt comes again when the connection was lost after it had been written down.
    WHERE delivery.state = 'pending' AND delivery.last_at IS DISTINCT FROM given.at AND delivery.last_at IS NOT NULL
    ON CONFLICT DO NOTHING;
  IF FOUND THEN${TRIM_ATTEMPTS}
  END IF;
  WITH moved AS (
    SELECT event.received_at / ${BUCKET_MS} AS bucket, delivery.state AS old_state, delivery.reason AS old_reason,
      given.state AS new_state, given.reason AS new_reason
    FROM unnest(seqs, days, states, reasons) AS given (seq, day, state, reason)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    JOIN event ON event.seq = given.seq AND event.day = the_day
    WHERE delivery.state = 'pending' AND given.state <> 'pending'
  ), changed AS (
    UPDATE delivery SET state = given.state, reason = given.reason, attempts = given.attempts, due_at = given.due_at,
      last_at = given.at, last_ms = given.duration
    FROM unnest(seqs, days, states, reasons, attempt_counts, due_ats, ats, durations)
      AS given (seq, day, state, reason, attempts, due_at, at, duration)
    WHERE delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target AND delivery.state = 'pending'
  )${COUNT_MOVED}
  END LOOP;${TELL_OUTCOMES}
END
$settle$;
`

/** Makes deliveries due again that are in one of the states, with a key of their own when `rounds` is 1. Returns how many. */
const REDELIVER = `
CREATE FUNCTION redeliver(target text, seqs bigint[], states text[], rounds integer)
RETURNS integer LANGUAGE plpgsql ${SETTINGS} AS $redeliver$
DECLARE
  days date[];
  the_day date;
  size integer := 0;
BEGIN${LOCK_DELIVERIES}
  INSERT INTO attempt (day, seq, destination, at, attempt, ms, result, reason)
    SELECT delivery.day, delivery.seq, target, delivery.last_at, delivery.attempts, coalesce(delivery.last_ms, 0),
      CASE WHEN delivery.state = 'pending' THEN 'retry' ELSE delivery.state END, delivery.reason
    FROM unnest(seqs, days) AS given (seq, day)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    WHERE delivery.state = ANY (states) AND delivery.last_at IS NOT NULL
    ON CONFLICT ON CONSTRAINT attempt_pkey DO UPDATE SET result = excluded.result;
  IF FOUND THEN${TRIM_ATTEMPTS}
  END IF;
  size := size + (SELECT count(*) FROM unnest(seqs, days) AS given (seq, day)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    WHERE delivery.state = ANY (states));
  WITH moved AS (
    SELECT event.received_at / ${BUCKET_MS} AS bucket, delivery.state AS old_state, delivery.reason AS old_reason,
      'pending' AS new_state, NULL AS new_reason
    FROM unnest(seqs, days) AS given (seq, day)
    JOIN delivery ON delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target
    JOIN event ON event.seq = given.seq AND event.day = the_day
    WHERE delivery.state = ANY (states) AND delivery.state <> 'pending'
  ), changed AS (
    UPDATE delivery SET state = 'pending', attempts = 0, due_at = 0, last_at = NULL, last_ms = NULL, round = round + rounds
    FROM unnest(seqs, days) AS given (seq, day)
    WHERE delivery.seq = given.seq AND given.day = the_day AND delivery.day = the_day AND delivery.destination = target AND delivery.state = ANY (states)
  )${COUNT_MOVED}
  END LOOP;
  IF size > 0 THEN${TELL_OUTCOMES}
  END IF;
  RETURN size;
END
$redeliver$;
`

/**
 * Of several processes one gets a delivery: rows that somebody else is taking are passed over, and what is taken is due again only
 * when the lease ends.
 */
const CLAIM = `
CREATE FUNCTION claim(target text, now_ms bigint, size integer, until_ms bigint)
RETURNS TABLE (nth bigint, seq bigint, attempts integer, round integer, source text, message_id text, body text, inherited bigint)
LANGUAGE plpgsql ${SETTINGS} AS $claim$
DECLARE
  seqs bigint[];
  days date[];
  the_day date;
BEGIN
  SELECT array_agg(due.seq ORDER BY due.due_at, due.seq), array_agg(due.day ORDER BY due.due_at, due.seq) INTO seqs, days
  FROM (
    SELECT delivery.seq, delivery.day, delivery.due_at FROM delivery
    WHERE delivery.destination = target AND delivery.state = 'pending' AND delivery.due_at <= now_ms
    ORDER BY delivery.due_at, delivery.seq LIMIT size FOR UPDATE SKIP LOCKED
  ) AS due;
  FOR the_day IN SELECT DISTINCT given.day FROM unnest(days) AS given (day) ORDER BY 1 LOOP
    RETURN QUERY WITH claimed AS (
      UPDATE delivery SET due_at = until_ms FROM unnest(seqs, days) WITH ORDINALITY AS given (seq, day, nth)
      WHERE given.day = the_day AND delivery.day = the_day AND delivery.seq = given.seq AND delivery.destination = target
      RETURNING given.nth, delivery.seq, delivery.attempts, delivery.round
    )
    SELECT claimed.nth, claimed.seq, claimed.attempts, claimed.round, source.name, event.message_id, event.body, event.inherited
    FROM claimed JOIN event ON event.day = the_day AND event.seq = claimed.seq JOIN source ON source.id = event.source_id;
  END LOOP;
END
$claim$;
`

/** The functions for what is owed to destinations; made after those that write events. */
export const DELIVERY_FUNCTIONS = `${CLAIM}${SETTLE}${REDELIVER}`
