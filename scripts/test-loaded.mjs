// Runs `npm test` while other processes keep all cores busy (at least two processes), to find tests that depend on the speed of
// the machine. Arguments are passed to scripts/test.mjs.
import { spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

// Ends when this process ends, even by SIGKILL.
const LOOP = `
const parent = process.ppid
while (process.ppid === parent) for (const end = Date.now() + 100; Date.now() < end; );
`
const loops = Array.from({ length: Math.max(2, availableParallelism()) }, () =>
  spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
)
console.log(`beside ${loops.length} busy loops`)
const script = fileURLToPath(new URL('./test.mjs', import.meta.url))
const { status } = spawnSync(process.execPath, [script, ...process.argv.slice(2)], { stdio: 'inherit' })
for (const loop of loops) loop.kill()
process.exitCode = status ?? 1
