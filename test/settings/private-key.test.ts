import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { readPrivateKey } from '../../src/settings/private-key.ts'
import { signsWith } from '../auth/support.ts'

const { privateKey: rsa, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const { privateKey: smallRsa } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const { privateKey: pss } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
const { privateKey: curve } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { privateKey: edwards } = generateKeyPairSync('ed25519')

function pem(key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8'): string {
  return key.export({ type, format: 'pem' } as { type: 'pkcs8'; format: 'pem' }) as string
}

const PKCS8 = pem(rsa)
const PKCS1 = pem(rsa, 'pkcs1')
const lines = (text: string): string[] => text.trim().split('\n')

describe('S05: a key that is accepted', () => {
  test.each<[string, unknown]>([
    ['PKCS#8 PEM', PKCS8],
    ['PKCS#1 PEM', PKCS1],
    ['CRLF as line breaks', PKCS8.replaceAll('\n', '\r\n')],
    ['PKCS#1 with CRLF', PKCS1.replaceAll('\n', '\r\n')],
    [
      'indented lines and trailing spaces',
      lines(PKCS8)
        .map((line) => `   ${line} \t`)
        .join('\n'),
    ],
    ['all on one line', lines(PKCS8).join(' ')],
    ['no line break at all', lines(PKCS8).join('')],
    ['line breaks written as backslash and n', PKCS8.replaceAll('\n', '\\n')],
    ['line breaks written as backslash, r, backslash and n', PKCS8.replaceAll('\n', '\\r\\n')],
    ['without its END line', lines(PKCS8).slice(0, -1).join('\n')],
    ['double spaces inside the BEGIN line', PKCS8.replace('BEGIN PRIVATE', 'BEGIN  PRIVATE')],
    [
      'text before and after, as other tools write them',
      `Bag Attributes\n  friendlyName: Zürich\n${PKCS8}\nend\n`,
    ],
    [
      'a certificate before the key',
      `-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n${PKCS8}`,
    ],
  ])('%s', async (_, value) => {
    expect(await signsWith(value, publicKey, 2)).toEqual([true, true])
  })
})

describe('F65: a key that is refused: the error names the reason, and shows nothing of the key', () => {
  const encrypted = { cipher: 'aes-256-cbc', passphrase: 'Geheimnis-7' }
  test.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /got undefined/],
    ['null', null, /got null/],
    ['a number', 17, /got a number/],
    ['a KeyObject', rsa, /got an object/],
    ['empty text', '', /without a private key in PEM/],
    ['a file name', '/etc/keys/trackpost.pem', /without a private key in PEM/],
    ['bare base64', lines(PKCS8).slice(1, -1).join(''), /without a private key in PEM/],
    ['a buffer', Buffer.from(PKCS8), /got an object/],
    [
      'cut in the middle',
      [...lines(PKCS8).slice(0, 12), '-----END PRIVATE KEY-----'].join('\n'),
      /truncated or damaged/,
    ],
    [
      'PKCS#1 cut in the middle',
      [...lines(PKCS1).slice(0, 3), '-----END RSA PRIVATE KEY-----'].join('\n'),
      /truncated or damaged/,
    ],
    ['other characters than base64', PKCS8.replace(lines(PKCS8)[4] as string, '***'), /truncated or damaged/],
    ['no bytes', '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----', /truncated or damaged/],
    ['a public key', publicKey.export({ type: 'spki', format: 'pem' }), /a public key/],
    ['a PKCS#1 public key', publicKey.export({ type: 'pkcs1', format: 'pem' }), /a public key/],
    [
      'a certificate',
      '-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----',
      /without a private key in PEM/,
    ],
    ['encrypted PKCS#8', rsa.export({ type: 'pkcs8', format: 'pem', ...encrypted }), /an encrypted key/],
    ['encrypted PKCS#1', rsa.export({ type: 'pkcs1', format: 'pem', ...encrypted }), /an encrypted key/],
    ['an EC key in SEC1', pem(curve, 'sec1'), /an elliptic curve key/],
    ['an EC key in PKCS#8', pem(curve), /an elliptic curve key/],
    ['an Ed25519 key', pem(edwards), /not RSA/],
    ['an RSA-PSS key', pem(pss), /not RSA/],
    ['1,024 bits in PKCS#8', pem(smallRsa), /a key of 1024 bits; it needs 2048/],
    ['1,024 bits in PKCS#1', pem(smallRsa, 'pkcs1'), /a key of 1024 bits; it needs 2048/],
  ])('%s', (_, value, problem) => {
    let error: unknown
    try {
      readPrivateKey(value)
    } catch (thrown) {
      error = thrown
    }

    expect(error).toBeInstanceOf(SettingsError)
    expect((error as SettingsError).setting).toBe('oauthSettings.clientKey')
    expect((error as SettingsError).message).toMatch(problem)
    const shown = inspect(error, { depth: 9, showHidden: true })
    for (const key of [PKCS8, PKCS1, pem(curve), pem(smallRsa)]) {
      for (const line of lines(key).slice(1, -1)) expect(shown).not.toContain(line.slice(0, 24))
    }
    expect(shown).not.toContain('/etc/keys')
  })

  test('S23: a key whose DER is cut off is always refused with a SettingsError', () => {
    const der = rsa.export({ type: 'pkcs8', format: 'der' })
    for (let length = 0; length < der.length; length += 7) {
      const base64 = der.subarray(0, length).toString('base64')
      const text = `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----`

      expect(() => readPrivateKey(text)).toThrow(SettingsError)
    }
  })
})
