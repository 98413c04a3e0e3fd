import { generateKeyPairSync } from 'node:crypto'

export function keygen(clientId: string, keyId: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const sdk = { clientId, keyId, clientKey: privateKey, authServer: 'http://127.0.0.1:8787' }
  const config = { oauth: { applications: [{ clientId, keys: [{ keyId, publicKey }] }] } }
  return [
    'Settings of the SDK (keep the key secret):',
    '',
    JSON.stringify({ oauthSettings: sdk }, null, 2),
    '',
    'Config file of the collector:',
    '',
    JSON.stringify(config, null, 2),
    '',
  ].join('\n')
}
