// A serverless platform, reduced to the parts that a handler uses. Runs one invocation for each line of stdin. After
// the invocation, the process sends itself the signal that the line names, before any other code can run.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const { MODULE } = process.env

// Provides the part of Vercel's runtime that @vercel/functions uses.
let handedOver = []
let open = 0
globalThis[Symbol.for('@vercel/request-context')] = {
  get: () => ({
    waitUntil(promise) {
      open++
      handedOver.push(promise.then(() => open--))
    },
  }),
}

const { handler, POST } = await import(MODULE)
const invoke = async (order) => {
  if (handler !== undefined) return handler(order)
  const response = await POST(
    new Request('http://127.0.0.1/orders', { method: 'POST', body: JSON.stringify(order) }),
  )
  return { statusCode: response.status, body: await response.text() }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { order, stopBy } = JSON.parse(line)
  handedOver = []
  const answer = await invoke(order)
  writeSync(1, `${JSON.stringify({ isAnsweredFirst: open > 0 })}\n`)
  // The platform keeps the process alive only until all promises that were passed to `waitUntil` have settled.
  await Promise.all(handedOver)
  writeSync(1, `${JSON.stringify({ answer })}\n`)
  process.kill(process.pid, stopBy)
}
