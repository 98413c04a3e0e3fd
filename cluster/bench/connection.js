import { connect } from 'node:net'

const BODY_BEGINS = Buffer.from('\r\n\r\n')

/**
 * One keep-alive connection that sends one request after another. It parses only the necessary part of a response: on a shared
 * machine, the load takes CPU time away from the measured process.
 */
export class Connection {
  #socket
  #settle
  #rest = Buffer.alloc(0)
  #isOpen = false

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

  /** Sends a complete request; resolves with the status, or 0 if the connection ended. */
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
