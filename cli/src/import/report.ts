import { byReason, counted, duration, printable } from '../output/text.ts'
import { describeNote, NOTE_TEXTS, type Note } from './notes.ts'
import type { Problem, SourceRecord } from './record.ts'

export interface ListedProblem extends Problem {
  readonly line: number
}

export interface ImportResult {
  readonly file: string
  readonly isDryRun: boolean
  /** Lines that got an outcome in this run. */
  readonly lines: number
  readonly delivered: number
  readonly refused: number
  readonly reasons: ReadonlyMap<string, number>
  /** `undefined` when the end of the file was reached. */
  readonly resumeLine: number | undefined
  readonly canResume: boolean
  /** Why the import ended early. */
  readonly problem: string | undefined
  readonly isInterrupted: boolean
  readonly rejects: string | undefined
  /** Lines over the size limit. They are not in the rejects file. */
  readonly dropped: number
  /** What was changed or left out. */
  readonly notes: readonly Note[]
  /** The first event that was delivered, or would be. */
  readonly example: Readonly<Record<string, unknown>> | undefined
  /** Only the first ones, at most as many as `--problems` allows. */
  readonly problems: readonly ListedProblem[]
  readonly elapsedMs: number
}

/** `data.csv:3:17: ...` for a character, or `data.csv:3: column "at": ...` for a column. */
export function describeProblem(file: string, record: SourceRecord, problem: Problem): string {
  const { column, message, linesDown = 0 } = problem
  const line = record.line + linesDown
  const place = `${printable(file)}:${line}`
  if (typeof column === 'number') return `${place}:${column}: ${printable(message)}`
  if (column !== undefined)
    return `${place}: column ${printable(JSON.stringify(column))}: ${printable(message)}`
  return `${place}: ${printable(message)}`
}

export function summarize(result: ImportResult, command: string): string {
  const { file, lines, delivered, refused, reasons, isDryRun, elapsedMs, rejects, dropped } = result
  const perSecond = elapsedMs > 0 ? Math.round((lines / elapsedMs) * 1_000).toLocaleString('en-US') : '0'
  const outcomes = [`${delivered.toLocaleString('en-US')} ${isDryRun ? 'valid' : 'delivered'}`]
  outcomes.push(
    `${refused.toLocaleString('en-US')} ${isDryRun ? 'invalid' : 'refused'}${refused > 0 ? ` (${byReason(reasons)})` : ''}`,
  )
  const text = [
    `${printable(file)}: ${counted(lines, 'line')}: ${outcomes.join(', ')}, in ${duration(elapsedMs)} (${perSecond}/s)`,
  ]
  if (isDryRun) {
    text.push('nothing was sent: this was a dry run')
    if (result.example !== undefined) text.push(`the first event: ${shorten(JSON.stringify(result.example))}`)
  }
  text.push(...result.notes.map(describeNote))
  if (rejects !== undefined) {
    text.push(`the refused lines are in ${printable(rejects)}: fix them there, and import that file`)
  }
  if (dropped > 0)
    text.push(
      `${counted(dropped, 'line')} over the size limit ${dropped === 1 ? 'is' : 'are'} only in the input, not in the rejects file`,
    )
  if (result.problem !== undefined) text.push(`stopped: ${result.problem}`)
  if (result.resumeLine !== undefined && !isDryRun) {
    text.push(
      result.canResume
        ? `everything before line ${result.resumeLine} has its outcome; continue with: ${command}`
        : `everything before line ${result.resumeLine} has its outcome; lines that are sent again keep their messageId`,
    )
  }
  return `${text.join('\n')}\n`
}

const MAX_EXAMPLE = 1_000

function shorten(text: string): string {
  return printable(text.length <= MAX_EXAMPLE ? text : `${text.slice(0, MAX_EXAMPLE)}...`)
}

export function toJson({
  isDryRun,
  reasons,
  notes,
  example,
  isInterrupted,
  ...result
}: ImportResult): string {
  const { file, lines, delivered, refused, rejects, dropped, resumeLine, problem, elapsedMs } = result
  return `${JSON.stringify({
    ...{ file, dryRun: isDryRun, lines, delivered, refused },
    reasons: Object.fromEntries(reasons),
    rejects: rejects ?? null,
    dropped,
    notes: notes.map((note) => ({ ...note, message: NOTE_TEXTS[note.kind] })),
    ...(isDryRun && { example: example ?? null }),
    resumeLine: resumeLine ?? null,
    problem: problem ?? null,
    interrupted: isInterrupted,
    elapsedMs: Math.round(elapsedMs),
    problems: result.problems.map(({ line, column, reason, message }) => ({ line, column, reason, message })),
  })}\n`
}
