export const EXIT = { delivered: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** An error that ends the command. Its message is printed as one line on stderr. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}

/** The command line or an input file is invalid. Nothing has been sent. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.usage)
    this.name = 'UsageError'
  }
}

export function fileProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  const known: Record<string, string> = {
    ENOENT: 'there is no such file',
    EACCES: 'no permission',
    EISDIR: 'it is a folder',
    ENOSPC: 'no space left on the disk',
    EFBIG: 'no larger file is allowed',
  }
  return known[code ?? ''] ?? message
}
