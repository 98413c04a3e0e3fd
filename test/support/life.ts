import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A program in its own process. */
export interface Life {
  readonly child: ChildProcess
  /** Resolves to the next line that the program prints. */
  line(): Promise<string>
  /** Resolves when the program has written `text` to stderr. */
  says(text: string): Promise<void>
  /** Resolves at the end of the program. `end` is the exit code, or the signal that ended the program. */
  readonly ended: Promise<{ end: number | NodeJS.Signals | null; stderr: string }>
}

/** Starts a program with the environment variables PATH, HOME, NO_COLOR and `env`. The caller must end the program. */
export function startLife(
  binary: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Life {
  const child = spawn(binary, args, {
    cwd,
    env: { PATH: '/usr/bin:/bin', HOME: cwd, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ end: signal ?? code, stderr }))
  return {
    child,
    ended,
    line: async () => {
      const { value, done } = await lines.next()
      if (!done) return value
      await ended
      throw new Error(`the program ended without another line: ${stderr}`)
    },
    says: async (text) => {
      while (!stderr.includes(text)) await once(child.stderr, 'data')
    },
  }
}
