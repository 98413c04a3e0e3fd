import { readFileSync, writeFileSync } from 'node:fs'
import { CommandError, EXIT, fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import type { CommandContext } from './context.ts'

export interface TypesFlags {
  readonly out?: string
  readonly check?: boolean
}

export async function runTypes(path: string, flags: TypesFlags, context: CommandContext): Promise<number> {
  const { out } = flags
  if (flags.check === true && out === undefined)
    throw new UsageError('--check: add --out <path>, the file to check')
  // Loaded only when needed: the code for plans is as large as the rest of the program.
  const { readPlanFile } = await import('../plan/plan-file.ts')
  const { createTypes } = await import('../plan/typescript.ts')
  const { text, events } = await createTypes(await readPlanFile(path, context.env['TRACKPOST_ADMIN_TOKEN']))
  if (out === undefined) {
    context.stdout.write(text)
    return EXIT.delivered
  }
  const present = readPresent(out)
  // Git may have changed the line ends.
  const isSame = present?.replaceAll('\r\n', '\n') === text
  if (flags.check === true) {
    if (isSame) return EXIT.delivered
    const what = present === undefined ? 'there is no such file' : 'it does not match the plan'
    throw new CommandError(`${printable(out)}: ${what}; the command without --check writes it again`)
  }
  const [header] = text.split('\n')
  if (present !== undefined && present.trim() !== '' && !present.startsWith(`${header}`))
    throw new UsageError(
      `--out: ${printable(out)} was not made by this command, and is not overwritten: name another file, or remove it`,
    )
  if (!isSame) write(out, text)
  context.stdout.write(`${printable(out)}: ${events} ${events === 1 ? 'event' : 'events'}\n`)
  return EXIT.delivered
}

function readPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new UsageError(`--out: ${printable(path)}: ${fileProblem(error)}`)
  }
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (error) {
    throw new CommandError(`${printable(path)} cannot be written: ${fileProblem(error)}`)
  }
}
