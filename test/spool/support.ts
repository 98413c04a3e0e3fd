import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'

const made: string[] = []

export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'trackpost-spool-'))
  made.push(path)
  return path
}

afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true, maxRetries: 100 })
})

export function filesIn(directory: string): string[] {
  return readdirSync(directory).sort()
}
