import { randomUUID } from 'node:crypto'

const authorization = `Basic ${Buffer.from('bench:').toString('base64')}`

/** Builds the requests as text, since the load must be cheap. */
export function eventMaker(host) {
  let nextId = 0
  const item = () => {
    const id = nextId++
    return (
      `{"type":"track","userId":"user-${id % 5000}","event":"Order Completed","messageId":"${randomUUID()}",` +
      `"timestamp":"2026-05-17T09:30:00.000Z","properties":{"orderId":"order-${id}","total":19.9,"currency":"EUR","items":["kettle","Größe L"]},` +
      `"context":{"library":{"name":"trackpost","version":"0.1.0"},"locale":"de-DE"},"integrations":{},"_metadata":{"nodeVersion":"20.0.0","jsRuntime":"node"}}`
    )
  }
  const wrap = (path, body) =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nuser-agent: bench\r\n\r\n${body}`,
    )
  return (count) => {
    if (count === 1) return wrap('/v1/track', item())
    const items = Array.from({ length: count }, item)
    return wrap('/v1/batch', `{"batch":[${items.join(',')}],"sentAt":"2026-05-17T09:30:00.100Z"}`)
  }
}
