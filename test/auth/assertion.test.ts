import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, exportJWK, importJWK, importPKCS8, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { localKey, signAssertion } from '../../src/auth/tokens.ts'
import { readPrivateKey } from '../../src/settings/private-key.ts'
import type { Signer } from '../../src/settings/signer.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const CLAIMS = { clientId: 'client_Zürich', keyId: 'key-7', authServer: 'https://oauth2.example.test' }

function createSigner() {
  const signer = localKey(readPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  return { sign: (nowMs: number) => signAssertion(signer, CLAIMS, nowMs) }
}

test('S07, F66: no two of 300 assertions by two signers have the same id, and each id is a UUID', async () => {
  const signers = [createSigner(), createSigner()]

  const assertions = await Promise.all(
    Array.from({ length: 300 }, (_, index) =>
      (signers[index % 2] as (typeof signers)[number]).sign(1_795_167_000_000),
    ),
  )

  const ids = assertions.map((assertion) => decodeJwt(assertion).jti as string)
  expect(new Set(ids).size).toBe(300)
  expect(
    ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
  ).toBe(true)
})

test('S05: an external signer names its algorithm and its key, and gets the bytes to sign', async () => {
  const key = await importPKCS8(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }) as string,
    'ES256',
    { extractable: true },
  )
  const seen: string[] = []
  const signer: Signer = {
    algorithm: 'ES256',
    keyId: 'kms/7',
    async sign(data) {
      seen.push(Buffer.from(data).toString('utf8'))
      return new Uint8Array(
        await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, new Uint8Array(data)),
      )
    },
  }

  const assertion = await signAssertion(signer, CLAIMS, Date.now())

  const { d, ...jwk } = await exportJWK(key)
  const { protectedHeader } = await jwtVerify(assertion, await importJWK(jwk, 'ES256'))
  expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'kms/7' })
  expect(seen).toEqual([assertion.slice(0, assertion.lastIndexOf('.'))])
})
