import type { HTTPResponse } from './client.ts'

type Streaming = HTTPResponse & { body?: ReadableStream<Uint8Array> | null }

/**
 * The text of a reply.
 *
 * @throws RangeError when it is longer than `maxBytes`; what lies beyond is not read where it can be helped.
 */
export async function readText(response: HTTPResponse, maxBytes: number): Promise<string> {
  const { body } = response as Streaming
  if (typeof body?.getReader !== 'function') {
    const text = await response.text?.()
    if (typeof text === 'string' && text.length > maxBytes) throw tooLong(maxBytes)
    return typeof text === 'string' ? text : ''
  }
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > maxBytes) {
      reader.cancel().catch(() => {})
      throw tooLong(maxBytes)
    }
    text += decoder.decode(value, { stream: true })
  }
}

function tooLong(maxBytes: number): RangeError {
  return new RangeError(`the reply body is longer than ${maxBytes} bytes`)
}
