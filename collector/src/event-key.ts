const NAMED: ReadonlySet<string> = new Set(['track', 'page', 'screen'])

/** Whether events of this kind are distinguished by their names. */
export function isNamed(type: string): boolean {
  return NAMED.has(type)
}

/** For example `track:Order Completed`, or `identify`. */
export function keyOf(type: string, name: string | null): string {
  return isNamed(type) ? `${type}:${name ?? ''}` : type
}

/** Callers may write a name alone, which means a `track` event. */
export function readKey(key: string): { type: string; name: string } {
  const [, type, name] = /^(track|page|screen):([\s\S]*)$/.exec(key) ?? []
  if (type !== undefined) return { type, name: name ?? '' }
  return ['identify', 'group', 'alias'].includes(key) ? { type: key, name: '' } : { type: 'track', name: key }
}
