import { counted, duration, printable } from '../output/text.ts'
import { fieldNamedBy } from './mapping.ts'
import { describeNote, type Note } from './notes.ts'
import type { Problem, SourceRecord } from './record.ts'

/** What `--json` prints. */
export interface ImportResult {
  readonly file: string
  readonly dryRun: boolean
  /** Lines that got an outcome in this run. */
  readonly lines: number
  readonly delivered: number
  readonly refused: number
  readonly reasons: Readonly<Record<string, number>>
  /** The path of the rejects file. */
  readonly rejects: string | null
  /** Lines over the size limit. They are not in the rejects file. */
  readonly dropped: number
  /** What was changed or left out. */
  readonly notes: readonly (Note & { readonly message: string })[]
  /** Only of a dry run: the first event that would be delivered. */
  readonly example?: Readonly<Record<string, unknown>> | null
  /** `null` when the end of the file was reached. */
  readonly resumeLine: number | null
  /** Why the import ended early. */
  readonly problem: string | null
  readonly interrupted: boolean
  readonly elapsedMs: number
  /** The first ones. */
  readonly problems: readonly (Omit<Problem, 'linesDown'> & { readonly line: number })[]
}

/** `data.csv:3:17: ...` for a character, or `data.csv:3: column "at": ...` for a column. */
export function describeProblem(file: string, record: SourceRecord, problem: Problem): string {
  const { column, message, linesDown = 0 } = problem
  const place = `${file}:${record.line + linesDown}`
  if (typeof column === 'number') return printable(`${place}:${column}: ${message}`)
  return printable(
    column === undefined ? `${place}: ${message}` : `${place}: column ${JSON.stringify(column)}: ${message}`,
  )
}

const MAX_EXAMPLE = 1_000

/** @param next How to continue an import that has ended early. */
export function summarize(result: ImportResult, next: string): string {
  const { file, lines, delivered, refused, dryRun, elapsedMs, rejects, dropped, example, problem } = result
  const perSecond = elapsedMs > 0 ? Math.round((lines / elapsedMs) * 1_000).toLocaleString('en-US') : '0'
  const reasons = Object.entries(result.reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${count.toLocaleString('en-US')}`)
  const outcomes = [
    `${delivered.toLocaleString('en-US')} ${dryRun ? 'valid' : 'delivered'}`,
    `${refused.toLocaleString('en-US')} ${dryRun ? 'invalid' : 'refused'}${refused > 0 ? ` (${reasons.join(', ')})` : ''}`,
  ]
  const text = [
    `${file}: ${counted(lines, 'line')}: ${outcomes.join(', ')}, in ${duration(elapsedMs)} (${perSecond}/s)`,
  ]
  if (dryRun) {
    text.push('nothing was sent: this was a dry run')
    const event = JSON.stringify(example ?? '')
    if (example)
      text.push(`the first event: ${event.slice(0, MAX_EXAMPLE)}${event.length > MAX_EXAMPLE ? '...' : ''}`)
  }
  text.push(...result.notes.map((note) => describeNote(note) + suggestion(note)))
  if (rejects !== null) text.push(`the refused lines are in ${rejects}: fix them there, and import that file`)
  if (dropped > 0)
    text.push(`of lines over the size limit, ${dropped} in all, there is no copy in the rejects file`)
  if (problem !== null) text.push(`stopped: ${problem}`)
  if (result.resumeLine !== null && !dryRun)
    text.push(`everything before line ${result.resumeLine} has its outcome; ${next}`)
  return `${text.map(printable).join('\n')}\n`
}

function suggestion({ kind, field }: Note): string {
  const target = kind === 'not_sent' ? fieldNamedBy(field) : undefined
  return target === undefined ? '' : `; as ${target}: --map ${JSON.stringify(`${target}=${field}`)}`
}
