// Adds up the JSON reports of the test runs and prints them as one line: 'N passed, N failed, N skipped'.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = 'test-results'] = process.argv.slice(2)
const total = { passed: 0, failed: 0, skipped: 0 }
let names = []
try {
  names = readdirSync(folder).filter((name) => name.endsWith('.json'))
} catch {
  // No test ran: the line says so.
}
for (const name of names) {
  const report = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  total.passed += report.numPassedTests
  total.failed += report.numFailedTests
  total.skipped += report.numPendingTests + report.numTodoTests
  // A file that could not be loaded has no tests to fail; it is a failure all the same.
  total.failed += report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
