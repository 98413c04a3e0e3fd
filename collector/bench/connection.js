import { connect } from 'node:net'

const BODY_BEGINS = Buffer.from('\r\n\r\n')

/**
 * One connection that is kept open and sends one request after the other. It reads as much of a response as must be known
 * and no more: on a shared machine what the load costs is missing to what it measures.
 */
export class Connection {
  #socket
  #settle
  #rest = Buffer.alloc(0)
  #isOpen = false

  /** Resolves when the connection is open. */
  static open(port, host) {
    const connection = new Connection()
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host, noDelay: true }, () => {
        connection.#isOpen = true
        resolve(connection)
      })
      connection.#socket = socket
      socket.on('data', (chunk) => connection.#take(chunk))
      socket.on('error', reject)
      socket.on('close', () => {
        connection.#isOpen = false
        connection.#done(0)
      })
    })
  }

  /** Sends a whole request; resolves with the status, 0 when the connection ended. */
  send(bytes) {
    if (!this.#isOpen) return Promise.resolve(0)
    return new Promise((resolve) => {
      this.#settle = resolve
      this.#socket.write(bytes)
    })
  }

  #take(chunk) {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = data.indexOf(BODY_BEGINS)
    const length = end < 0 ? undefined : /content-length: (\d+)/i.exec(data.latin1Slice(0, end))?.[1]
    if (length === undefined || data.length < end + 4 + Number(length)) {
      this.#rest = data
      return
    }
    this.#rest = data.subarray(end + 4 + Number(length))
    this.#done(Number(data.latin1Slice(9, 12)))
  }

  #done(status) {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(status)
  }

  close() {
    this.#socket.destroy()
  }
}
