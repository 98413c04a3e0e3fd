import type { createColors } from 'picocolors'
import { printable } from '../output/text.ts'
import type { EventSummary } from './collector-api.ts'

type Colors = ReturnType<typeof createColors>

const TYPE_COLORS = {
  track: 'green',
  identify: 'cyan',
  page: 'blue',
  screen: 'blue',
  group: 'magenta',
  alias: 'yellow',
} as const satisfies Record<string, keyof Colors>

export function formatEvent(event: EventSummary, colors: Colors): string {
  const { receivedAt, type, name, userId, anonymousId, status, reason, preview = [] } = event
  const color = TYPE_COLORS[type as keyof typeof TYPE_COLORS]
  const kind = (type ?? '?').padEnd(8)
  const parts = [colors.dim(timeOfDay(receivedAt)), color === undefined ? kind : colors[color](kind)]
  if (name !== null) parts.push(colors.bold(printable(name)))
  parts.push(printable(userId ?? anonymousId ?? '-'))
  for (const { path, value } of preview) {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    parts.push(
      `${colors.dim(`${printable(path.replace(/^(?:properties|traits)\./, ''))}=`)}${printable(text)}`,
    )
  }
  if (status === 'rejected') parts.push(colors.red(`rejected: ${printable(reason ?? 'unknown')}`))
  return parts.join('  ')
}

function timeOfDay(iso: string): string {
  const date = new Date(iso)
  const two = (number: number): string => String(number).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
