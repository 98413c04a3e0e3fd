// Adds up the summaries that scripts/test.mjs has written to test-results, and prints each failure once more, since a log is often
// cut, and then 'N passed, N failed, N skipped'.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../test-results/', import.meta.url))
const total = { passed: 0, failed: 0, skipped: 0 }
for (const name of readdirSync(folder).filter((name) => /^summary.*\.json$/.test(name))) {
  const counts = JSON.parse(readFileSync(folder + name, 'utf8'))
  for (const key of Object.keys(total)) total[key] += counts[key]
  for (const failure of counts.failures) console.log(failure)
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
