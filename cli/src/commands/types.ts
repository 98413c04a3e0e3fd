import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { CommandError, EXIT, fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import type { CommandContext } from './context.ts'

export interface TypesFlags {
  readonly out?: string
  readonly check?: boolean
}

/** Resolves with the exit code. */
export async function runTypes(path: string, flags: TypesFlags, context: CommandContext): Promise<number> {
  const { out } = flags
  if (flags.check === true && out === undefined)
    throw new UsageError('--check: add --out <path>, the file to check')
  const { text, events } = await typesOf(path, context.env['TRACKPOST_ADMIN_TOKEN'])
  if (out === undefined) {
    context.stdout.write(text)
    return EXIT.delivered
  }
  const present = readPresent(out)
  if (flags.check === true) {
    const line = firstDifference(present ?? '', text)
    if (line === undefined) return EXIT.delivered
    const what = present === undefined ? 'there is no such file' : `line ${line} does not match the plan`
    throw new CommandError(`${printable(out)}: ${what}; the command without --check writes it again`)
  }
  const [header] = text.split('\n')
  if (present !== undefined && present.trim() !== '' && !present.startsWith(`${header}`))
    throw new UsageError(
      `--out: ${printable(out)} was not made by this command, and is not overwritten: name another file, or remove it`,
    )
  if (firstDifference(present ?? '', text) !== undefined) writeWhole(out, text)
  context.stdout.write(`${printable(out)}: ${events} ${events === 1 ? 'event' : 'events'}\n`)
  return EXIT.delivered
}

async function typesOf(path: string, adminToken?: string): Promise<{ text: string; events: number }> {
  // Loaded only when needed: the code for plans is as large as the rest of the program.
  const { readPlanFile } = await import('../plan/plan-file.ts')
  const { createTypes } = await import('../plan/typescript.ts')
  try {
    return await createTypes(await readPlanFile(path, adminToken))
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${printable(path)}: nested too deeply for a plan`)
    throw error
  }
}

function readPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new UsageError(`--out: ${printable(path)}: ${fileProblem(error)}`)
  }
}

/** Counts lines from 1. Ignores line endings, which Git may have changed. */
function firstDifference(present: string, text: string): number | undefined {
  const [one, other] = [present, text].map((content) => content.replaceAll('\r\n', '\n').split('\n'))
  const length = Math.max(one?.length ?? 0, other?.length ?? 0)
  for (let index = 0; index < length; index++) if (one?.[index] !== other?.[index]) return index + 1
  return undefined
}

/** Writes atomically: a reader of the path sees either the old content or the complete new content. */
function writeWhole(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    writeFileSync(temporary, text)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw new CommandError(`${printable(path)} cannot be written: ${fileProblem(error)}`)
  }
}
