import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export const WRITE_KEY = 'wk_Geneva_Zx81'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Resolves to the first match in the text on stdout. Rejects when the process ends without a match. */
  output(pattern: RegExp): Promise<RegExpExecArray>
  readonly exit: Promise<Exit>
}

export function examplePath(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
}

/** Starts Node.js with only PATH and these environment variables. */
export function startNode(args: string[], env: Record<string, string>, cwd?: string): Running {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
  return {
    child,
    exit,
    output: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(output.stdout)
          if (match !== null) resolve(match)
        }
        child.stdout.on('data', look)
        void exit.then(() => reject(new Error(`ended without ${pattern}: ${output.stdout}${output.stderr}`)))
        look()
      }),
  }
}

export function runNode(args: string[], env: Record<string, string>, cwd?: string): Promise<Exit> {
  return startNode(args, env, cwd).exit
}
