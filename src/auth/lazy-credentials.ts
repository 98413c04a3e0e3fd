import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { TokenCredentials } from './credentials.ts'

/** Renewable credentials whose code is loaded beside them. */
export class LazyCredentials implements TokenCredentials {
  readonly #load: () => Promise<TokenCredentials>
  #loaded: TokenCredentials | undefined
  #loading: Promise<TokenCredentials> | undefined
  /** Rejects what waits for the code. */
  #waiting = new Set<(error: DeliveryError) => void>()
  #isClosed = false

  constructor(load: () => Promise<TokenCredentials>) {
    this.#load = load
    // Not with the first event: at a moment without a free file descriptor it could not be read, and Node.js remembers
    // failed imports of ES modules.
    this.#loading = this.#start()
    this.#loading.catch(() => {})
  }

  authorization(): string | Promise<string> {
    if (this.#loaded !== undefined) return this.#loaded.authorization()
    if (this.#isClosed) return Promise.reject(closedError())
    this.#loading ??= this.#start()
    const loading = this.#loading
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      loading.then(
        (credentials) => {
          // Given up meanwhile: no token must be asked for.
          if (!this.#waiting.delete(reject)) return
          resolve(credentials.authorization())
        },
        (error) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  async tryOnce(): Promise<string> {
    if (this.#isClosed) throw closedError()
    this.#loading ??= this.#start()
    return (await this.#loading).tryOnce()
  }

  onAccepted(authorization: string): void {
    this.#loaded?.onAccepted(authorization)
  }

  onUnauthorized(authorization: string): boolean {
    return this.#loaded?.onUnauthorized(authorization) ?? false
  }

  abort(): void {
    this.#loaded?.abort()
    for (const reject of this.#waiting) reject(closedError())
    this.#waiting.clear()
  }

  close(): void {
    this.#isClosed = true
    this.#loaded?.close()
    this.abort()
  }

  async #start(): Promise<TokenCredentials> {
    try {
      this.#loaded = await this.#load()
    } catch (error) {
      // What could not be loaded once may be there the next time.
      this.#loading = undefined
      throw new DeliveryError('auth', `the code for OAuth could not be loaded: ${describeCause(error)}`, {
        cause: error,
      })
    }
    if (this.#isClosed) this.#loaded.close()
    return this.#loaded
  }
}

function closedError(): DeliveryError {
  return new DeliveryError('auth', 'no access token: the client was closed')
}
