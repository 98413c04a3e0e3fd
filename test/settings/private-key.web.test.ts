import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { readPrivateKey } from '../../src/settings/private-key.ts'
import { signsWith } from '../auth/support.ts'

// The build for edge runtimes, which do not have node:crypto, also uses platform.web.ts.
vi.mock('../../src/runtime/platform.node.ts', () => import('../../src/runtime/platform.web.ts'))

const rsa = (modulusLength: number): KeyObject => generateKeyPairSync('rsa', { modulusLength }).privateKey
const key = rsa(2048)

function pem(key: KeyObject, type: 'pkcs8' | 'pkcs1' = 'pkcs8'): string {
  return key.export({ type, format: 'pem' }) as string
}

test.each([
  ['PKCS#8', pem(key)],
  ['PKCS#8 on one line', pem(key).replaceAll('\n', '\\n')],
])('without node:crypto, a key in %s can sign', async (_label, text) => {
  expect(await signsWith(text, createPublicKey(key))).toEqual([true])
})

const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const EC_SEC1 = EC.export({ type: 'sec1', format: 'pem' }) as string

test.each<[string, string, RegExp]>([
  ['PKCS#1', pem(key, 'pkcs1'), /PKCS#1 key, which this runtime cannot read; convert it with `openssl pkcs8/],
  ['1,024 bits', pem(rsa(1024)), /fewer than 2048 bits/],
  ['an EC key', pem(EC), /not RSA/],
  ['an EC key in SEC1', EC_SEC1, /an elliptic curve key/],
  ['a key cut in the middle', `${pem(key).slice(0, 300)}\n-----END PRIVATE KEY-----`, /not RSA|damaged/],
  ['damaged base64', pem(key).replace('\nM', '\n***'), /truncated or damaged/],
])('without node:crypto, %s is refused at once', (_label, text, problem) => {
  expect(() => readPrivateKey(text)).toThrow(SettingsError)
  expect(() => readPrivateKey(text)).toThrow(problem)
})

test('without node:crypto, a key that is slightly too short is refused when it is imported', async () => {
  // Before the import, only the length in bytes is known: a key of 2,040 bits looks like one of 2,048.
  const short = rsa(2_040)

  await expect(signsWith(pem(short), createPublicKey(short))).rejects.toThrow(
    'a key of 2040 bits; it needs 2048 or more',
  )
})
