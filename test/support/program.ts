import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A program in its own process. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves to the first match in what stdout and stderr hold. Rejects when the process ends without a match. */
  prints(pattern: string | RegExp): Promise<RegExpExecArray>
  /** Resolves to the next line on stdout. */
  line(): Promise<string>
  readonly ended: Promise<Exit>
}

/**
 * Starts a program, with nothing in its environment but `env`. The caller must end it.
 *
 * @param options.input For stdin; `null` leaves it open.
 */
export function startProgram(
  binary: string,
  args: readonly string[],
  options: { cwd?: string | undefined; env: NodeJS.ProcessEnv; input?: string | Buffer | null | undefined },
): Running {
  const { input = '', ...rest } = options
  const child = spawn(binary, args, rest)
  child.stdin.on('error', () => {})
  if (input !== null) child.stdin.end(input)
  const texts = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
      for (const look of waiting) look()
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...texts }))
  const until = <Found>(find: () => Found | null, what: string): Promise<Found> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find()
        if (found === null) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      ended.then(() => reject(new Error(`ended without ${what}: ${texts.stdout}${texts.stderr}`)), reject)
      look()
    })
  let read = 0
  return {
    child,
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    prints: (pattern) => {
      const wanted = typeof pattern === 'string' ? new RegExp(pattern.replace(/\W/g, '\\$&')) : pattern
      return until(() => wanted.exec(texts.stdout) ?? wanted.exec(texts.stderr), String(pattern))
    },
    line: async () => {
      const line = await until(() => /^[^\n]*\n/.exec(texts.stdout.slice(read))?.[0] ?? null, 'another line')
      read += line.length
      return line.trimEnd()
    },
  }
}
