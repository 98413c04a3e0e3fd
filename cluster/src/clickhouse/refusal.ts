import type { BatchOutcome } from './split.ts'

/** A response of the server, or of a proxy in front of it. */
export interface ServerResponse {
  status: number
  /** The code of the server's exception; undefined if there was none. */
  code: number | undefined
  text: string
}

/** Codes of exceptions that are caused by the data of a row. */
const DATA: ReadonlySet<number> = new Set([
  6, // CANNOT_PARSE_TEXT
  25, // CANNOT_PARSE_ESCAPE_SEQUENCE
  26, // CANNOT_PARSE_QUOTED_STRING
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  38, // CANNOT_PARSE_DATE
  41, // CANNOT_PARSE_DATETIME
  53, // TYPE_MISMATCH
  69, // ARGUMENT_OUT_OF_BOUND
  70, // CANNOT_CONVERT_TYPE
  72, // CANNOT_PARSE_NUMBER
  117, // INCORRECT_DATA
  131, // TOO_LARGE_STRING_SIZE
  321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  395, // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
  469, // VIOLATED_CONSTRAINT
  691, // UNKNOWN_ELEMENT_OF_ENUM
])

/** Codes of exceptions that are not caused by the rows. */
const UNAVAILABLE: ReadonlySet<number> = new Set([
  16, // NO_SUCH_COLUMN_IN_TABLE
  60, // UNKNOWN_TABLE
  81, // UNKNOWN_DATABASE
  115, // UNKNOWN_SETTING
  159, // TIMEOUT_EXCEEDED
  164, // READONLY
  192, // UNKNOWN_USER
  193, // WRONG_PASSWORD
  194, // REQUIRED_PASSWORD
  195, // IP_ADDRESS_NOT_ALLOWED
  201, // QUOTA_EXCEEDED
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  218, // TABLE_IS_DROPPED
  225, // NO_ZOOKEEPER
  236, // ABORTED
  242, // TABLE_IS_READ_ONLY
  243, // NOT_ENOUGH_SPACE
  252, // TOO_MANY_PARTS: smaller requests would make more parts
  279, // ALL_CONNECTION_TRIES_FAILED
  285, // TOO_FEW_LIVE_REPLICAS
  286, // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  319, // UNKNOWN_STATUS_OF_INSERT
  394, // QUERY_WAS_CANCELLED
  439, // CANNOT_SCHEDULE_TASK
  452, // SETTING_CONSTRAINT_VIOLATION
  497, // ACCESS_DENIED
  516, // AUTHENTICATION_FAILED
  999, // KEEPER_EXCEPTION
])

export const UNKNOWN_TABLE = 60

/** For a response that is not from ClickHouse. */
export function unlikeClickHouse({ status }: ServerResponse): string {
  return `answered ${status}, but not as ClickHouse does`
}

export function outcomeOf(response: ServerResponse): BatchOutcome {
  const { status, code, text } = response
  if (code === undefined && status >= 200 && status < 300) {
    // The response to a successful insert is empty.
    return text.trim() === ''
      ? { kind: 'taken' }
      : { kind: 'unavailable', reason: unlikeClickHouse(response) }
  }
  const reason = refusalReason(response)
  // A response without an exception code is from a proxy. With status 413, half of the rows may be small enough.
  if (code === undefined) return { kind: status === 413 ? 'refused' : 'unavailable', reason }
  if (DATA.has(code)) return { kind: 'refused', reason }
  return { kind: UNAVAILABLE.has(code) ? 'unavailable' : 'unclear', reason }
}

/** Leaves out the server's text, which quotes event data, because reasons with equal wording are counted together. */
export function refusalReason({ status, code, text }: ServerResponse): string {
  if (code === undefined) return `answered ${status}`
  // The exception name is at the end, followed only by the version. So no event data can be taken for the name.
  const name = /\(([A-Z][A-Z0-9_]{2,60})\)(?: \(version [^()]*(?:\([^()]*\))?\))?\s*$/.exec(
    text.slice(-300),
  )?.[1]
  return name === undefined ? `refused: code ${code}` : `refused: ${name}`
}
