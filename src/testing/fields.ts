import type { Kind } from '../message/types.ts'
import { isAsymmetric } from './differences.ts'
import type { MessageOfKind } from './messages.ts'

type Names<Type extends Kind> = Record<keyof MessageOfKind<Type>, true>

const COMMON = {
  type: true,
  messageId: true,
  timestamp: true,
  userId: true,
  anonymousId: true,
  context: true,
  integrations: true,
  _metadata: true,
} as const
const VIEW = { ...COMMON, name: true, category: true, properties: true } as const

const NAMES: { readonly [Type in Kind]: Names<Type> } = {
  track: { ...COMMON, event: true, properties: true },
  identify: { ...COMMON, traits: true },
  page: VIEW,
  screen: VIEW,
  group: { ...COMMON, groupId: true, traits: true },
  alias: { ...COMMON, previousId: true },
}

/**
 * Refuses an expected field that no message has. Otherwise a misspelt name would make `not` pass.
 *
 * @param messages They may have fields that a plugin has added.
 * @throws TypeError
 */
export function checkFields(wanted: object, messages: readonly object[], kind?: Kind): void {
  if (isAsymmetric(wanted)) return
  const tables = kind === undefined ? Object.values(NAMES) : [NAMES[kind]]
  const sent = messages.filter((one) => kind === undefined || (one as { type?: unknown }).type === kind)
  const names = new Set([...tables, ...sent].flatMap((one) => Object.keys(one)))
  const unknown = Object.keys(wanted).find((name) => !names.has(name))
  if (unknown === undefined) return
  const what = kind === undefined ? 'no message has' : `no ${kind} message has`
  throw new TypeError(`${what} the field ${JSON.stringify(unknown)}; there are ${[...names].join(', ')}`)
}
