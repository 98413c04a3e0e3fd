import { CommanderError } from 'commander'
import type { CommandContext } from './commands/context.ts'
import { CommandError, EXIT } from './errors.ts'
import { createProgram } from './program.ts'

/** @param io Where the command reads its environment and writes its output. Default: the process. */
export async function main(
  args: readonly string[],
  { stdout, stderr, env }: Pick<CommandContext, 'stdout' | 'stderr' | 'env'> = process,
): Promise<number> {
  // The program that reads the output may have ended (`| head -1`). The command still sends its events.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const context: CommandContext = { stdout, stderr, env, onInterrupt }
  let exitCode: number = EXIT.delivered
  try {
    const program = createProgram(context, (code) => {
      exitCode = code
    })
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.delivered : EXIT.usage
    if (!(error instanceof CommandError)) throw error
    stderr.write(`trackpost: ${error.message}\n`)
    exitCode = error.exitCode
  }
  return exitCode
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function onInterrupt(run: () => void): () => void {
  let isAsked = false
  const take = (): void => {
    // An import saves its progress once a second, so the process may end at any time.
    if (isAsked) process.exit(EXIT.interrupted)
    isAsked = true
    run()
  }
  for (const signal of SIGNALS) process.on(signal, take)
  return () => {
    for (const signal of SIGNALS) process.off(signal, take)
  }
}
