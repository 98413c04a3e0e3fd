// Tracks its last event in `beforeExit`, when the event loop is empty. Prints each outcome as a line.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { Analytics } from 'trackpost'

const [host, mode] = process.argv.slice(2)
const track = (event, then = () => {}) =>
  analytics.track({ userId: 'usr_Zoë', event }, (error) => {
    writeSync(1, `${error?.code ?? 'delivered'}\n`)
    then()
  })

const analytics = new Analytics({ writeKey: 'wk_Exit_7', host })
if (mode === 'once') process.once('beforeExit', () => track('Script Ended'))
if (mode === 'behind a promise') {
  process.once('beforeExit', async () => {
    await null
    track('Script Ended')
  })
}
if (mode === 'in a callback' || mode === 'at once') {
  track('Script Ended', () => process.exit())
  for (let count = 0; count < 9; count++) track('Script Ended')
  process.on('exit', () => {
    const { accepted, delivered, failed, pending } = analytics.stats
    writeSync(
      1,
      `at exit: ${accepted} accepted, ${delivered} delivered, ${failed} failed, ${pending} pending\n`,
    )
  })
  if (mode === 'at once') process.exit()
} else if (mode !== 'once') track('Script Started')
