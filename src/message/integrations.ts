/**
 * Whether `integrations` lets an event through to the destination that has these names. The first name that is
 * switched decides, then `All`; a destination that nothing is said about is on. Names are case-sensitive.
 *
 * `true` and an object of options switch on, `false` switches off; any other value says nothing.
 *
 * @see docs/spec.md, section 2
 */
export function isSwitchedOn(
  integrations: Readonly<Record<string, unknown>> | null | undefined,
  names: readonly string[],
): boolean {
  if (integrations === undefined || integrations === null) return true
  for (const name of names) {
    const isOn = switchOf(integrations, name)
    if (isOn !== undefined) return isOn
  }
  return switchOf(integrations, 'All') ?? true
}

/** Own keys only: a destination may be called `toString`. */
function switchOf(integrations: Readonly<Record<string, unknown>>, name: string): boolean | undefined {
  if (Object.getOwnPropertyDescriptor(integrations, name) === undefined) return undefined
  const value = integrations[name]
  if (typeof value === 'boolean') return value
  return typeof value === 'object' && value !== null ? true : undefined
}
