/** The part of the process that a command uses: its streams, its environment, and the signal to end. */
export interface CommandContext {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** The arguments as they were given. */
  readonly args: readonly string[]
  /** Calls `run` when the user asks for an end, with Ctrl+C for instance; a second time ends the process. Returns how to take it back. */
  onInterrupt(run: () => void): () => void
}

/** A command's arguments for a shell, with another flag or without one. The key is left out: what is printed may be kept. */
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
  // Whoever ran it by npx has no command of that name.
  const name = env['npm_command'] === 'exec' ? 'npx trackpost-cli' : 'trackpost'
  return [name, ...kept, ...added].join(' ')
}

function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
