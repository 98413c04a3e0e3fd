import type { Output } from '../output/text.ts'

export interface CommandContext {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** The arguments as the user typed them, without `node` and the path of the script. */
  readonly args: readonly string[]
  /**
   * Calls `run` when the user interrupts the command, for example with Ctrl+C. A second interrupt ends the process. Returns a
   * function that removes the listener.
   */
  onInterrupt(run: () => void): () => void
}

/** Returns the command line for the user to copy. Leaves out the write key, because the output may be logged. */
export function commandLine(
  { args, env }: Pick<CommandContext, 'args' | 'env'>,
  { added = [], dropped }: { added?: readonly string[]; dropped: readonly string[] },
): string {
  const kept: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string
    if (arg === '--write-key') index++
    else if (!arg.startsWith('--write-key=') && !dropped.includes(arg)) kept.push(shellQuoted(arg))
  }
  // A user who runs the program with npx has no command `trackpost`.
  const name = env['npm_command'] === 'exec' ? 'npx trackpost-cli' : 'trackpost'
  return [name, ...kept, ...added].join(' ')
}

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
