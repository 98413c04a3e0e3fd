export function collectorAccount(records) {
  const rejected = records.filter(({ status }) => status === 'rejected')
  return {
    events: records.filter(({ status }) => status === 'accepted').map(({ message }) => message),
    /** Ids of the messages that arrived again: one entry for each repetition. */
    duplicates: rejected.filter(({ reason }) => reason === 'duplicate').map(({ messageId }) => messageId),
    refused: rejected.filter(({ reason }) => reason !== 'duplicate'),
  }
}

/** Returns each difference as text. An empty list means that every event has its outcome. */
export function findProblems({ expected, log, exit, recorded, requests, startedMs, endedMs }) {
  const problems = []
  const check = (isTrue, problem) => isTrue || problems.push(problem)

  check(exit.code === 0, `the shop ended with exit code ${exit.code}, signal ${exit.signal}`)
  checkStats(check, expected, log)
  checkOutcomes(check, expected, log)
  checkArrivals(check, expected, recorded, startedMs, endedMs)
  checkRetries(check, requests)
  return problems
}

function checkStats(check, expected, log) {
  const stats = log.find(({ message }) => message === 'stopped')?.stats
  if (stats === undefined) return check(false, 'the shop reported no counts when it stopped')

  const failing = expected.filter(({ fails }) => fails !== undefined)
  const counts = {
    accepted: [stats.accepted, expected.length],
    delivered: [stats.delivered, expected.length - failing.length],
    failed: [stats.failed, failing.length],
    pending: [stats.pending, 0],
  }
  for (const code of Object.keys(stats.failures)) {
    counts[`failures.${code}`] = [stats.failures[code], failing.filter(({ fails }) => fails === code).length]
  }
  for (const [name, [actual, wanted]] of Object.entries(counts)) {
    check(actual === wanted, `stats.${name} is ${actual}, expected ${wanted}`)
  }
}

/** Every event must have exactly one outcome in the log, and the expected one. */
function checkOutcomes(check, expected, log) {
  const outcomes = new Map()
  for (const { message, id, code } of log) {
    if (id === undefined) continue
    outcomes.set(id, [...(outcomes.get(id) ?? []), message === 'delivered' ? 'delivered' : code])
  }
  for (const [id, events] of groupById(expected)) {
    const wanted = events.map(({ fails }) => fails ?? 'delivered').join(', ')
    const actual = (outcomes.get(id) ?? ['none']).join(', ')
    check(actual === wanted, `the outcome of ${id} is ${actual}, expected ${wanted}`)
  }
}

function checkArrivals(check, expected, { events, duplicates, refused }, startedMs, endedMs) {
  const arrived = new Map(events.map((message) => [message.messageId, message]))
  check(arrived.size === events.length, 'an event was accepted twice')
  for (const { messageId, reason } of refused) check(false, `${messageId} was refused: ${reason}`)

  const delivered = expected.filter(({ fails }) => fails === undefined)
  const groups = groupById(delivered)
  for (const [id, [event, ...repeated]] of groups) {
    const message = arrived.get(id)
    if (message === undefined) {
      check(false, `${id} did not arrive`)
      continue
    }
    // The collector moves `timestamp` forward by the time between the sending and the arrival of the message.
    const sent = { ...message, timestamp: message.originalTimestamp }
    const timeMs = Date.parse(sent.timestamp)
    const isNow = timeMs >= startedMs && timeMs <= endedMs
    check(isNow || event.message.timestamp !== undefined, `${id} has a wrong time: ${sent.timestamp}`)
    const movedMs = Date.parse(message.timestamp) - timeMs
    check(movedMs >= 0 && movedMs <= endedMs - startedMs, `the time of ${id} was moved by ${movedMs} ms`)
    for (const difference of differences({ type: event.kind, ...event.message }, sent)) {
      check(false, `${id} differs at ${difference}`)
    }
    const times = duplicates.filter((duplicate) => duplicate === id).length
    check(times === repeated.length, `${id} was repeated ${times} times, expected ${repeated.length}`)
  }
  for (const id of arrived.keys()) check(groups.has(id), `${id} arrived, and nobody tracked it`)
}

/** Every event of a failed request must be sent again in a successful request. */
function checkRetries(check, requests) {
  const taken = new Set(requests.filter(({ status }) => status === 200).flatMap(({ ids }) => ids))
  const failed = requests.filter(({ status }) => status !== 200)
  check(failed.length === 2, `${failed.length} requests did not get 200, expected 2`)
  for (const { status, ids } of failed) {
    for (const id of ids) check(taken.has(id), `${id} was not sent again after a ${status}`)
  }
}

function groupById(expected) {
  const groups = new Map()
  for (const event of expected) groups.set(event.id, [...(groups.get(event.id) ?? []), event])
  return groups
}

/**
 * Compares only the properties that `expected` has, and returns each difference as text. A property that is `undefined` in
 * `expected` must be absent in `actual`.
 */
function differences(expected, actual, path = '') {
  if (typeof expected !== 'object' || expected === null) {
    if (Object.is(expected, actual)) return []
    return [`${path}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`]
  }
  if (Array.isArray(expected) && expected.length !== actual?.length) {
    return [`${path}: ${actual?.length} items instead of ${expected.length}`]
  }
  return Object.entries(expected).flatMap(([key, value]) =>
    differences(value, actual?.[key], path === '' ? key : `${path}.${key}`),
  )
}
