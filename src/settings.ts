export { type ResolvedOAuthSettings, type ResolvedSettings, resolveSettings } from './settings/resolve.ts'
export type { AnalyticsSettings, KeyObjectLike, OAuthSettings } from './settings/schema.ts'

/** `resolveSettings` reports unknown names by itself. */
export const unknownSettings = (_given: object): { name: string; nearest: string }[] => []
