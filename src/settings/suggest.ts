import { SettingsError } from '../errors/errors.ts'
import { nearestName } from './nearest.ts'
import { OAUTH_SETTINGS, SETTINGS } from './schema.ts'

/** Every name that the constructor knows. */
export const SETTING_NAMES: readonly string[] = [...Object.keys(SETTINGS), 'maxEventsInBatch']

/** Ways to turn other SDKs off, with the value that does it. They are honoured: events must not be sent by mistake. */
export const KILL_SWITCHES = [
  ['enable', false],
  ['enabled', false],
  ['disabled', true],
] as const

/**
 * Our settings, and what other SDKs call them: in lower case, without separators. Ignoring one of them would send
 * events elsewhere, or drop a limit that somebody relies on.
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
 * Checks the names of the settings that were given.
 *
 * @returns One message for each unknown name; it suggests the nearest known one, if there is one near enough.
 * @throws SettingsError when another SDK's name was used for a setting of ours.
 */
export function checkNames(given: object): string[] {
  const killSwitches = KILL_SWITCHES.map(([name]) => name)
  return unknownNames(given, '', [...SETTING_NAMES, ...killSwitches], NAMES_ELSEWHERE)
}

/** The same for the names inside `oauthSettings`. */
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
