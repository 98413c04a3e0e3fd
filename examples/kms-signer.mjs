// OAuth with a private key that this process never gets. Another process holds the key and signs with it, like a KMS or an HSM.
// To run it: TRACKPOST_WRITE_KEY=... CLIENT_ID=... KEY_ID=... KEY_FILE=key.pem node kms-signer.mjs
import { fork } from 'node:child_process'
import { createPrivateKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Analytics } from 'trackpost'

const SELF = fileURLToPath(import.meta.url)

if (process.argv[2] === 'keeper') keepKey()
else await track()

/** Runs in the other process: reads the key, and signs the bytes that are sent to it. */
function keepKey() {
  const key = createPrivateKey(readFileSync(process.env.KEY_FILE))
  process.on('message', ({ id, data }) => {
    process.send({ id, signature: sign('sha256', data, key) })
  })
}

/** Starts the process that has the key. With a KMS, `sign` would send one request to the KMS. */
function startSigner() {
  const keeper = fork(SELF, ['keeper'], { serialization: 'advanced' })
  let last = 0
  return {
    algorithm: 'RS256',
    async sign(data) {
      const id = ++last
      keeper.send({ id, data })
      for (;;) {
        const [message] = await once(keeper, 'message')
        if (message.id === id) return message.signature
      }
    },
    close: () => keeper.disconnect(),
  }
}

async function track() {
  const signer = startSigner()
  const analytics = new Analytics({
    writeKey: process.env.TRACKPOST_WRITE_KEY,
    // `host` and `authServer` are only for a self-hosted service or for tests. If undefined, the public servers are used.
    host: process.env.TRACKPOST_HOST,
    oauthSettings: {
      clientId: process.env.CLIENT_ID,
      keyId: process.env.KEY_ID,
      authServer: process.env.AUTH_SERVER,
      signer,
    },
  })

  analytics.track({
    userId: 'user-1042',
    event: 'Invoice Paid',
    properties: { amount: 129.9, currency: 'CHF' },
  })

  const { delivered, failed } = await analytics.closeAndFlush()
  signer.close()

  console.log(`delivered: ${delivered}, failed: ${failed}`)
  process.exitCode = failed === 0 ? 0 : 1
}
