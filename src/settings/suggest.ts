import { SettingsError } from '../errors/errors.ts'
import { OAUTH_SETTINGS, SETTINGS } from './schema.ts'

/**
 * Settings that turn off other SDKs, with the value that does so. They also work here, so that no events are sent by mistake.
 */
export const KILL_SWITCHES = [
  ['enable', false],
  ['enabled', false],
  ['disabled', true],
] as const

/**
 * Settings and their names in other SDKs, in lower case and without separators. Ignoring such a name might send events to
 * another service, or drop a limit on which somebody relies.
 */
const NAMES_ELSEWHERE: readonly (readonly [ours: string, theirs: string])[] = [
  ['writeKey', 'apikey segmentkey segmentwritekey sourcewritekey'],
  ['host', 'dataplaneurl dataplane endpoint apihost apiurl baseurl serverurl url'],
  ['maxRetries', 'retrycount retries maxretrycount maxattempts'],
  ['httpRequestTimeout', 'timeout requesttimeout httptimeout timeoutms'],
  ['flushAt', 'flushsize flushqueuesize batchsize maxbatchsize maxflushsize uploadsize'],
  ['flushInterval', 'flushintervalms flushintervalmillis flushintervalseconds uploadinterval'],
  ['maxQueueSize', 'maxinternalqueuesize queuesize'],
  ['httpClient', 'axiosinstance axiosconfig fetch customfetch fetchimplementation'],
  ['oauthSettings', 'oauth oauth2 oauthconfig'],
]

const OAUTH_NAMES_ELSEWHERE: typeof NAMES_ELSEWHERE = [
  ['clientKey', 'privatekey key pem'],
  ['keyId', 'kid'],
  ['authServer', 'authurl authhost tokenurl tokenendpoint tokenserver'],
]

/**
 * @returns One message for each unknown name.
 * @throws SettingsError when a setting is named as in another SDK.
 */
export function checkNames(given: object): string[] {
  const killSwitches = KILL_SWITCHES.map(([name]) => name)
  return unknownNames(
    given,
    '',
    [...Object.keys(SETTINGS), 'maxEventsInBatch', ...killSwitches],
    NAMES_ELSEWHERE,
  )
}

export function checkOAuthNames(given: object): string[] {
  return unknownNames(given, 'oauthSettings.', Object.keys(OAUTH_SETTINGS), OAUTH_NAMES_ELSEWHERE)
}

function unknownNames(
  given: object,
  prefix: string,
  known: readonly string[],
  elsewhere: typeof NAMES_ELSEWHERE,
): string[] {
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  return unknown.map((name) => {
    const bare = name.replace(/[_-]/g, '').toLowerCase()
    const ours = elsewhere.find(([, theirs]) => theirs.split(' ').includes(bare))?.[0]
    if (ours !== undefined) throw new SettingsError(prefix + name, `unknown setting; write ${prefix}${ours}`)
    const nearest = nearestName(name, known)
    const hint = nearest === undefined ? '' : `; did you mean '${prefix}${nearest}'?`
    return `the setting '${prefix}${name}' is unknown${hint}`
  })
}

/** Names with a greater edit distance count as different words, not as typing errors. */
const MAX_DISTANCE = 3

export function unknownOption(
  given: object,
  known: readonly string[],
): [name: string, problem: string] | undefined {
  const name = Object.keys(given).find((one) => !known.includes(one))
  if (name === undefined) return undefined
  const nearest = nearestName(name, known)
  return [
    name,
    nearest === undefined
      ? `unknown option; the options are ${known.join(', ')}`
      : `unknown option; did you mean ${nearest}?`,
  ]
}

export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    // If half of a short name differs, it counts as another word: `port` is not a misspelt `host`.
    .filter(({ distance }) => distance <= MAX_DISTANCE && distance < name.length / 2)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.one
}

/** The Levenshtein distance. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[to.length] as number
}
