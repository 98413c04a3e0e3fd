import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportJWK, importJWK, importPKCS8, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { localKey, signAssertion } from '../../src/auth/tokens.ts'
import { readPrivateKey } from '../../src/settings/private-key.ts'
import type { Signer } from '../../src/settings/signer.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const CLAIMS = { clientId: 'client_Zürich', keyId: 'key-7', authServer: 'https://oauth2.example.test' }

function createSigner() {
  const signer = localKey(readPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  return { sign: (nowMs: number) => signAssertion(signer, CLAIMS, nowMs) }
}

test('an assertion is signed with RS256 and names client, audience and key', async () => {
  const assertion = await createSigner().sign(Date.now())

  const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
    algorithms: ['RS256'],
    audience: CLAIMS.authServer,
    issuer: CLAIMS.clientId,
    subject: CLAIMS.clientId,
    requiredClaims: ['iat', 'exp', 'jti'],
  })
  expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-7' })
  expect(payload.aud).toBe(CLAIMS.authServer)
})

test('S07: iat and exp are integers, at most 60 s apart, around the given moment', async () => {
  const nowMs = Date.parse('2026-11-20T09:30:00.789Z')

  const { iat, exp } = decodeJwt(await createSigner().sign(nowMs)) as { iat: number; exp: number }

  expect([iat, exp].every(Number.isInteger)).toBe(true)
  expect(exp - iat).toBeLessThanOrEqual(60)
  expect(iat * 1_000).toBeLessThanOrEqual(nowMs)
  expect(exp * 1_000).toBeGreaterThan(nowMs + 50_000)
})

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
  expect(decodeProtectedHeader(assertions[0] as string).alg).toBe('RS256')
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
