import { fileURLToPath } from 'node:url'
import { type Exit, type Running, startProgram } from '../support/program.ts'

export const WRITE_KEY = 'wk_Geneva_Zx81'

export function examplePath(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
}

/** Starts Node.js with only PATH and these environment variables. */
export function startNode(args: string[], env: Record<string, string>, cwd?: string): Running {
  return startProgram(process.execPath, args, { cwd, env: { PATH: process.env['PATH'], ...env } })
}

export function runNode(args: string[], env: Record<string, string>, cwd?: string): Promise<Exit> {
  return startNode(args, env, cwd).ended
}
