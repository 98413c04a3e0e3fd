import { BUCKET_MS, GIVEN_COLUMNS, namesOf, REQUEST_COLUMNS, TALLY_NAME } from 'trackpost-collector/sql'

/** The channel on which a process announces its writes. */
export const CHANNEL = 'trackpost'

/** The values of a column for all events of a commit are in the array `<column>_list`. */
const COLUMNS = namesOf(GIVEN_COLUMNS)
const LISTS = COLUMNS.map((column) => `${column}_list`).join(', ')
const LIST_TYPES = GIVEN_COLUMNS.replace(/(\w+) (\w+)(?: NOT NULL)?/g, '$1_list $2[]')

/** For `json_to_recordset`. */
const REQUEST_FIELDS = REQUEST_COLUMNS.replaceAll(' NOT NULL', '')

/**
 * With these settings, every look-up uses an index: otherwise PostgreSQL may cache a plan while the tables are small, and the
 * plan may scan them. If a scan cannot be avoided, these settings raise its estimated cost so much that PostgreSQL would
 * compile the plan each time (about 50 ms), so JIT is off. `lock_timeout` limits waits for locks.
 */
export const SETTINGS =
  "SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '10s'"

/**
 * Writes a commit in one statement. So the lock on `log_head` is never held during a network round trip, and a process that
 * dies or loses its connection never delays the others.
 *
 * The column `what` of the returned rows tells whether the commit was written. In the first three cases nothing was written,
 * and the caller calls the function again with changed arguments, or not at all:
 *
 * - `cleared`: everything was deleted since the epoch `known_epoch`.
 * - `consumed`: the key of the nth group is known, so its events are stored already. `first_seq` is the first of them.
 * - `known`: the messageId of the nth event is known, from the event `first_seq` with the body `first_body`.
 * - `written`: everything was written. `first_seq` is the sequence number of the first event.
 */
const APPEND = `
CREATE FUNCTION append(
  now_ms bigint, window_ms bigint, known_epoch bigint, keys text[], key_starts integer[], source_names text[],
  source_nths integer[], ${LIST_TYPES}, inherited_nths integer[], text_nths integer[], inherited_texts text[],
  delivery_nths integer[], destinations text[], states text[], delivery_reasons text[], requests json
) RETURNS TABLE (what text, nth integer, first_seq bigint, first_body text, first_inherited bigint, at_epoch bigint)
LANGUAGE plpgsql
${SETTINGS} AS $append$
DECLARE
  head log_head;
  size integer := coalesce(cardinality(reason_list), 0);
  first bigint;
  today date;
  source_ids integer[];
BEGIN
  SELECT * INTO STRICT head FROM log_head FOR UPDATE;
  IF known_epoch <> head.epoch THEN
    RETURN QUERY SELECT 'cleared', 0, 0::bigint, NULL::text, NULL::bigint, head.epoch;
    RETURN;
  END IF;
  RETURN QUERY SELECT 'consumed', given.nth::integer, consumed.seq, NULL::text, NULL::bigint, head.epoch
    FROM unnest(keys) WITH ORDINALITY AS given (key, nth) JOIN consumed ON consumed.key = given.key;
  IF FOUND THEN
    RETURN;
  END IF;

  INSERT INTO source (name) SELECT given.name FROM unnest(source_names) AS given (name)
    WHERE NOT EXISTS (SELECT FROM source WHERE brief(source.name) = brief(given.name) AND source.name = given.name);
  source_ids := ARRAY(
    SELECT (SELECT id FROM source WHERE brief(source.name) = brief(given.name) AND source.name = given.name)
    FROM unnest(source_names) WITH ORDINALITY AS given (name, nth) ORDER BY given.nth);

  RETURN QUERY SELECT 'known', given.nth::integer, seen.seq, event.body, event.inherited, head.epoch
    FROM unnest(source_nths, reason_list, message_id_list, received_at_list)
      WITH ORDINALITY AS given (source_nth, reason, message_id, received_at, nth)
    JOIN seen ON seen.source_id = source_ids[given.source_nth] AND seen.message_id = given.message_id
    LEFT JOIN LATERAL (SELECT day_of(seen.seq) AS day) AS place ON true
    LEFT JOIN event ON event.seq = seen.seq AND event.day = place.day
    WHERE given.reason IS NULL AND (window_ms IS NULL OR seen.at > given.received_at - window_ms);
  IF FOUND THEN
    RETURN;
  END IF;

  today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  first := head.last_seq + 1;
  IF size > 0 AND head.day IS DISTINCT FROM today THEN
    INSERT INTO log_day (first_seq, day) VALUES (first, today);
  END IF;
  UPDATE log_head SET last_seq = head.last_seq + size, day = CASE WHEN size > 0 THEN today ELSE head.day END,
    last_request = head.last_request + coalesce(json_array_length(requests), 0);
  INSERT INTO consumed (key, seq, at)
    SELECT given.key, first + given.start, now_ms FROM unnest(keys, key_starts) AS given (key, start);

  INSERT INTO event (day, seq, source_id, status, inherited, ${COLUMNS.join(', ')})
    SELECT today, first + given.nth - 1, source_ids[given.source_nth], CASE WHEN given.reason IS NULL THEN 1 ELSE 0 END,
      first + given.inherited_nth - 1, ${COLUMNS.map((column) => `given.${column}`).join(', ')}
    FROM unnest(source_nths, inherited_nths, ${LISTS})
      WITH ORDINALITY AS given (source_nth, inherited_nth, ${COLUMNS.join(', ')}, nth);
  INSERT INTO inherited (day, seq, body)
    SELECT today, first + given.nth - 1, given.body FROM unnest(text_nths, inherited_texts) AS given (nth, body);
  INSERT INTO seen (source_id, message_id, seq, at)
    SELECT source_ids[given.source_nth], given.message_id, first + given.nth - 1, given.received_at
    FROM unnest(source_nths, reason_list, message_id_list, received_at_list)
      WITH ORDINALITY AS given (source_nth, reason, message_id, received_at, nth)
    WHERE given.reason IS NULL AND given.message_id IS NOT NULL
    ON CONFLICT ON CONSTRAINT seen_pkey DO UPDATE SET seq = excluded.seq, at = excluded.at;
  -- All writers of counts write in the order of the keys, so that no deadlock is possible.
  INSERT INTO tally (bucket, source_id, kind, name, reason, count)
    SELECT received_at / ${BUCKET_MS}, source_id, kind, min(name), reason, count(*) FROM (
      SELECT received_at, source_ids[source_nth] AS source_id, coalesce(kind, '') AS kind, ${TALLY_NAME} AS name,
        coalesce(reason, '') AS reason
      FROM unnest(received_at_list, source_nths, kind_list, name_list, reason_list)
        AS given (received_at, source_nth, kind, name, reason)
    ) AS given GROUP BY 1, 2, 3, brief(name), 5 ORDER BY 1, 2, 3, brief(min(name)), 5
    ON CONFLICT (bucket, source_id, kind, brief(name), reason) DO UPDATE SET count = tally.count + excluded.count;
  INSERT INTO total (source_id, kind, reason, count)
    SELECT source_ids[source_nth], coalesce(kind, ''), coalesce(reason, ''), count(*)
    FROM unnest(source_nths, kind_list, reason_list) AS given (source_nth, kind, reason) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT ON CONSTRAINT total_pkey DO UPDATE SET count = total.count + excluded.count;

  IF cardinality(delivery_nths) > 0 THEN
    INSERT INTO delivery (day, seq, destination, state, reason)
      SELECT today, first + given.nth - 1, given.destination, given.state, given.reason
      FROM unnest(delivery_nths, destinations, states, delivery_reasons) AS given (nth, destination, state, reason);
    INSERT INTO delivery_tally (bucket, destination, state, reason, count)
      SELECT received_at_list[given.nth] / ${BUCKET_MS}, given.destination, given.state, coalesce(min(given.reason), ''), count(*)
      FROM unnest(delivery_nths, destinations, states, delivery_reasons) AS given (nth, destination, state, reason)
      GROUP BY 1, 2, 3, coalesce(brief(given.reason), '') ORDER BY 1, 2, 3, coalesce(brief(min(given.reason)), '')
      ON CONFLICT (bucket, destination, state, brief(reason)) DO UPDATE SET count = delivery_tally.count + excluded.count;
  END IF;

  IF requests IS NOT NULL THEN
    INSERT INTO request (day, seq, ${namesOf(REQUEST_COLUMNS).join(', ')})
      SELECT today, head.last_request + row_number() OVER (), given.*
      FROM json_to_recordset(requests) AS given (${REQUEST_FIELDS})
      ON CONFLICT DO NOTHING;
    INSERT INTO request_tally (bucket, status, code, count)
      SELECT given.at / ${BUCKET_MS}, given.status, coalesce(given.code, ''), count(*)
      FROM json_to_recordset(requests) AS given (at bigint, status integer, code text) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT ON CONSTRAINT request_tally_pkey DO UPDATE SET count = request_tally.count + excluded.count;
  END IF;

  PERFORM pg_notify('${CHANNEL}', '');
  RETURN QUERY SELECT 'written', 0, first, NULL::text, NULL::bigint, head.epoch;
END
$append$;
`

/** The day on which the event with this sequence number was stored. The event is in the partition of that day. */
const DAY_OF = `
CREATE FUNCTION day_of(bigint) RETURNS date LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT day FROM log_day WHERE first_seq <= $1 ORDER BY first_seq DESC LIMIT 1 $$;
`

/** Null for a text that is no JSON, or that `jsonb` cannot represent. */
const MESSAGE_OF = `
CREATE FUNCTION message_of(text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ BEGIN RETURN $1::jsonb; EXCEPTION WHEN data_exception OR program_limit_exceeded THEN RETURN NULL; END $$;
`

/** Created after the tables. */
export const FUNCTIONS = `${DAY_OF}${MESSAGE_OF}${APPEND}`
