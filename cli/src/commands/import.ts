import { EXIT, UsageError } from '../errors.ts'
import { Checkpoint, type Setting } from '../import/checkpoint.ts'
import { keepHeapSmall } from '../import/heap.ts'
import { Importer, type ImporterOptions } from '../import/importer.ts'
import { type Input, openInput } from '../import/input.ts'
import { type Mapping, type MappingFlags, readMapping } from '../import/mapping.ts'
import {
  createExportMapper,
  createObjectMapper,
  createRowMapper,
  isExportHeader,
  type Mapper,
} from '../import/message.ts'
import { NOTE_TEXTS } from '../import/notes.ts'
import type { Problem, SourceRecord } from '../import/record.ts'
import { Rejects, rejectsPath } from '../import/rejects.ts'
import { describeProblem, type ImportResult, summarize } from '../import/report.ts'
import type { Format } from '../import/sniff.ts'
import { openSource, type Source } from '../import/source.ts'
import { createTarget, isSameTarget, readState, type State, statePath } from '../import/state.ts'
import { showProgress } from '../output/progress.ts'
import { printable } from '../output/text.ts'
import { type ConnectionFlags, readConnection, requireKey } from '../settings/connection.ts'
import type { CommandContext } from './context.ts'

export interface ImportFlags extends ConnectionFlags, MappingFlags {
  readonly format?: Format
  readonly delimiter?: string
  readonly columns?: readonly string[]
  readonly skipLines?: number
  readonly encoding?: string
  readonly dryRun?: boolean
  readonly rate?: number
  readonly maxRetries: number
  readonly resume?: boolean
  readonly restart?: boolean
  readonly state?: string
  readonly source?: string
  readonly json?: boolean
}

/** Problems that are printed one by one. */
const MAX_LISTED = 100

export async function runImport(file: string, flags: ImportFlags, context: CommandContext): Promise<number> {
  if (flags.resume === true && flags.restart === true)
    throw new UsageError('expected --resume or --restart, got both')
  if (flags.resume === true && file === '-' && flags.state === undefined)
    throw new UsageError('--resume: for stdin, add --state <path>, the state file of the earlier import')
  keepHeapSmall()
  const mapping = readMapping(flags)
  const connection = readConnection(flags, context.env)
  const isDryRun = flags.dryRun === true
  const writeKey = isDryRun ? 'dry-run' : requireKey(connection)
  const host = `${connection.host ?? connection.region ?? 'default'}`
  const path = isDryRun ? undefined : (flags.state ?? statePath(file))
  const source = await openSource(file, flags.encoding)
  try {
    const earlier = path === undefined ? undefined : await findEarlier(path, flags, source, host, writeKey)
    const input = await openInput(
      source,
      {
        format: earlier?.format ?? flags.format,
        delimiter: flags.delimiter,
        columns: flags.columns,
        skipLines: flags.skipLines,
      },
      earlier,
    )
    const mapper = createMapper(input, mapping)
    if (mapper.refusal !== undefined) {
      const text = `${printable(file)}:1: ${mapper.refusal}`
      // A dry run looks for further problems.
      if (!isDryRun) throw new UsageError(text)
      context.stderr.write(`trackpost: ${text}\n`)
    }
    const target = earlier?.target ?? createTarget(host, writeKey)
    const fingerprint = earlier?.fingerprint ?? (await source.fingerprint()) ?? null
    const setting = { version: 1, format: input.format, fingerprint, target } as const
    const run = new ImportRun({ file, flags, context, source, input, mapper, earlier, path })
    const settings = { ...connection, writeKey, maxRetries: flags.maxRetries, disable: isDryRun }
    const code = await run.run(settings, setting)
    return mapper.refusal === undefined ? code : EXIT.usage
  } catch (error) {
    // This problem was found before the first record, so its message has no file name yet.
    if (error instanceof UsageError && error.message.startsWith('line ')) {
      throw new UsageError(`${printable(file)}:${error.message.slice('line '.length)}`)
    }
    throw error
  } finally {
    source.close()
  }
}

function createMapper({ format, header }: Input, mapping: Mapping): Mapper<never> {
  if (format !== 'csv') return createObjectMapper(mapping)
  return (isExportHeader(header) ? createExportMapper : createRowMapper)(header, mapping)
}

/** Returns `undefined` if this import starts from the beginning. */
async function findEarlier(
  path: string,
  flags: ImportFlags,
  source: Source,
  host: string,
  writeKey: string,
): Promise<State | undefined> {
  if (flags.restart === true) return undefined
  const state = readState(path)
  if (state === undefined) return undefined
  if (flags.resume !== true) {
    // Without any outcome, as after a wrong address, there is nothing to continue. A line that is sent again keeps its messageId.
    if (state.isDone || state.delivered + state.refused === 0) return undefined
    throw new UsageError(
      `an earlier import of this file stopped at line ${state.line}: add --resume to continue there, or --restart to start over`,
    )
  }
  if (!isSameTarget(state.target, host, writeKey)) {
    throw new UsageError(
      `the earlier part went to ${printable(state.target.host)}${state.target.host === host ? ' with another write key' : ''}: use --restart to send the whole file here`,
    )
  }
  const { fingerprint } = state
  const now = fingerprint === null ? undefined : await source.fingerprint(fingerprint.headBytes)
  if (now !== undefined && now.headSha256 !== fingerprint?.headSha256) {
    throw new UsageError(
      'this is not the file of the earlier import: its beginning differs; use --restart to start over',
    )
  }
  return state
}

interface RunParts {
  readonly file: string
  readonly flags: ImportFlags
  readonly context: CommandContext
  readonly source: Source
  readonly input: Input
  readonly mapper: Mapper<never>
  readonly earlier: State | undefined
  readonly path: string | undefined
}

class ImportRun {
  readonly #parts: RunParts
  readonly #listed: ImportResult['problems'][number][] = []
  #dropped = 0
  readonly #log: (line: string) => void

  constructor(parts: RunParts) {
    this.#parts = parts
    this.#log = (line) => void parts.context.stderr.write(`${printable(line)}\n`)
  }

  async run(settings: ImporterOptions['settings'], setting: Setting): Promise<number> {
    const { file, flags, context, source, input, mapper, earlier, path } = this.#parts
    const isDryRun = flags.dryRun === true
    const mark = earlier?.rejects ?? undefined
    const style = { ...input, isMarked: flags.encoding !== undefined }
    const rejects = new Rejects(mark?.path ?? rejectsPath(file, input.format), style, mark)
    const startMs = performance.now()
    const importer = new Importer({
      settings,
      sourceName: flags.source ?? source.name,
      rate: flags.rate,
      start: input.start,
      onRefused: (line) => {
        this.#list(line.record, line.problem as Problem)
        if (!isDryRun) rejects.add(line)
      },
      onWarning: (text) => this.#log(`trackpost: ${text}`),
    })
    importer.signal.addEventListener('abort', () => source.close())
    const checkpoint = isDryRun
      ? undefined
      : new Checkpoint(
          path,
          rejects,
          setting,
          () => ({
            ...importer.frontier,
            delivered: importer.delivered + (earlier?.delivered ?? 0),
            refused: importer.refused + (earlier?.refused ?? 0),
          }),
          (problem) => importer.stop(problem),
        )
    // If the folder is not writable, the import fails here, before anything is sent.
    await checkpoint?.start()
    if (earlier !== undefined) this.#log(`${file}: continues at line ${input.start.line}`)
    else if (flags.resume === true && path !== undefined)
      this.#log(`${file}: there is no state file ${path}: starts at the first line`)
    const endProgress = showProgress(
      () => ({
        done: importer.delivered + importer.refused,
        failed: importer.refused,
        share: source.share(),
        paused: importer.pausedNow,
      }),
      this.#log,
    )
    const forget = context.onInterrupt(() => {
      this.#log('trackpost: stopping: requests in flight get 10 s. Ctrl+C again ends at once')
      importer.stop()
    })
    try {
      await importer.run(input, mapper, checkpoint)
    } finally {
      forget()
      endProgress()
    }
    await checkpoint?.finish(importer.isComplete)
    if (importer.problem !== undefined)
      this.#log(`${file}:${importer.frontier.line}: ${importer.problem.message}`)
    else if (importer.isComplete && earlier === undefined && importer.delivered + importer.refused === 0)
      this.#log(`${file}: there are no events in it`)
    else if (importer.isComplete && mapper.unseen.size > 0)
      this.#log(`${file}: no line has ${[...mapper.unseen].join(', ')}`)
    return this.#report(importer, rejects, performance.now() - startMs)
  }

  #list(record: SourceRecord, { linesDown = 0, ...problem }: Problem): void {
    const { file, flags } = this.#parts
    const isDropped = record.bytes.length === 0
    if (isDropped) this.#dropped++
    const isListed = this.#listed.length < MAX_LISTED
    if (isListed) this.#listed.push({ line: record.line + linesDown, ...problem })
    if (isListed ? flags.json !== true : isDropped)
      this.#log(describeProblem(file, record, { linesDown, ...problem }))
    if (isListed && this.#listed.length === MAX_LISTED && flags.json !== true)
      this.#log('... further problems are only counted')
  }

  #report(importer: Importer, rejects: Rejects, elapsedMs: number): number {
    const { file, flags, context, path, earlier } = this.#parts
    const { delivered, refused, reasons, isInterrupted, isComplete, problem, notes, example } = importer
    const dryRun = flags.dryRun === true
    const result: ImportResult = {
      ...{ file, dryRun, lines: delivered + refused, delivered, refused },
      reasons: Object.fromEntries(reasons),
      rejects: rejects.mark?.path ?? null,
      dropped: this.#dropped,
      notes: notes.all.map((note) => ({ ...note, message: NOTE_TEXTS[note.kind] })),
      ...(dryRun && { example: example ?? null }),
      resumeLine: isComplete ? null : importer.frontier.line,
      problem: problem?.message ?? null,
      interrupted: isInterrupted,
      elapsedMs: Math.round(elapsedMs),
      problems: this.#listed,
    }
    let next = 'lines that are sent again keep their messageId'
    if (path !== undefined)
      next =
        earlier === undefined && result.lines === 0 ? 'start the import again' : '--resume continues there'
    context.stdout.write(flags.json === true ? `${JSON.stringify(result)}\n` : summarize(result, next))
    if (isInterrupted) return EXIT.interrupted
    return isComplete && refused === 0 ? EXIT.delivered : (problem?.exitCode ?? EXIT.failed)
  }
}
