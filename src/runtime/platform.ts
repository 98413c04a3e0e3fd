import type { HTTPClient } from '../http/client.ts'

/** What differs between the builds of this package: the one for Node.js, and the one without `node:` modules. */
export interface Platform {
  /** A random UUID from the runtime's cryptographic source. */
  randomId(): string
  /** An HTTP client for runtimes without `fetch`; `undefined` where all have it. */
  loadHTTPClient: (() => Promise<HTTPClient>) | undefined
  /** Makes Web Crypto a global where the runtime has it elsewhere. */
  installWebCrypto(): Promise<void>
}
