import { test } from 'vitest'
import { expectCheap, HEAP, heavy } from '../../collector/test/ingest-cost.ts'
import { start } from '../../collector/test/support/process.ts'
import { natsTest, startNats } from './support/nats.ts'

// Only Linux has /proc, from which the test reads the peak memory of a process.
const linuxTest = process.platform === 'linux' ? natsTest : test.skip

linuxTest('a process with a log uses little memory if items inherit too much data', async () => {
  const { url: log } = await startNats()
  const running = await start(['--port', '0', '--log', log], HEAP)

  await expectCheap(running, heavy)
})
