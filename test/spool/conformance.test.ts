import { describe } from 'vitest'
import type { Spool } from '../../src/line/spool.ts'
import { describeConformance } from './conformance.ts'
import { createProcess, FileSpoolOn, temporaryDirectory } from './support.ts'

describe('FileSpool is a Spool', () => {
  describeConformance(async () => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    const ends = new Map<Spool, () => void>()
    return {
      async open() {
        const processes = createProcess(alive)
        const spool = new FileSpoolOn({ directory }, { processes, clock: processes.clock })
        ends.set(spool, () => processes.end())
        return spool
      },
      async kill(spool) {
        ends.get(spool)?.()
      },
    }
  })
})
