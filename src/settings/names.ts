import { OAUTH_SETTINGS, SETTINGS } from './schema.ts'

/** Of other SDKs. They work here too, so that no events are sent by mistake. */
export const KILL_SWITCHES = [
  ['enable', false],
  ['enabled', false],
  ['disabled', true],
] as const

/** They never throw: a program may pass one object of settings to several SDKs. @see docs/spec.md, section 5 */
export function describeUnknownNames(given: object, oauthSettings: unknown): string | undefined {
  const names = Object.keys(SETTINGS)
  const oauthNames = Object.keys(OAUTH_SETTINGS)
  const unknown = unknownOf(given, names)
  const unknownOAuth = typeof oauthSettings === 'object' ? unknownOf(oauthSettings ?? {}, oauthNames) : []
  const all = [...unknown, ...unknownOAuth.map((name) => `oauthSettings.${name}`)]
  if (all.length === 0) return undefined
  const known = [
    ...(unknown.length > 0 ? [`the settings are ${names.join(', ')}`] : []),
    ...(unknownOAuth.length > 0 ? [`those of oauthSettings are ${oauthNames.join(', ')}`] : []),
  ]
  return `unknown settings: ${all.join(', ')}; ${known.join('; ')}`
}

function unknownOf(given: object, known: readonly string[]): string[] {
  return Object.keys(given).filter((name) => !known.includes(name))
}
