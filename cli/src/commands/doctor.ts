import pc from 'picocolors'
import { examine } from '../doctor/examine.ts'
import type { Finding } from '../doctor/findings.ts'
import { EXIT } from '../errors.ts'
import { printable } from '../output/text.ts'
import { type ConnectionFlags, findConnection } from '../settings/connection.ts'
import type { CommandContext } from './context.ts'
import { readToken } from './tail.ts'

export interface DoctorFlags extends ConnectionFlags {
  readonly adminTokenFile?: string
  readonly json?: boolean
}

/** Resolves with the exit code. */
export async function runDoctor(flags: DoctorFlags, context: CommandContext): Promise<number> {
  const { stdout, stderr, env } = context
  const ended = new AbortController()
  const forget = context.onInterrupt(() => ended.abort())
  const colors = pc.createColors(stdout.isTTY === true && !env['NO_COLOR'])
  const findings: Finding[] = []
  const found = examine({
    ...findConnection(flags, env),
    env,
    adminToken: readToken(flags, context),
    onWarning: (text) => void stderr.write(`trackpost: ${text}\n`),
    signal: ended.signal,
  })
  for await (const finding of found) {
    findings.push(finding)
    if (flags.json === true) continue
    const { check, state, text, remedy } = finding
    const color = { ok: colors.green, note: colors.yellow, problem: colors.red }[state]
    stdout.write(`${color(state.padEnd(7))}  ${check.padEnd(7)}  ${printable(text)}\n`)
    if (remedy !== undefined) stdout.write(`${' '.repeat(18)}${printable(remedy)}\n`)
  }
  forget()
  const isFine = findings.every(({ state }) => state !== 'problem')
  if (flags.json === true) {
    const checks = findings.map(({ check, state, text, remedy = null }) => ({ check, state, text, remedy }))
    stdout.write(`${JSON.stringify({ ok: isFine, checks })}\n`)
  }
  if (ended.signal.aborted) return EXIT.interrupted
  return isFine ? EXIT.delivered : EXIT.failed
}
