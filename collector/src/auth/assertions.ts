import { createPublicKey, type KeyObject } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { ConfigError } from '../config/config-error.ts'
import type { ApplicationConfig } from '../config/schema.ts'

const ASSERTION_ALGORITHM = 'RS256'
/** Longest lifetime of an assertion, and tolerance for a wrong clock of the client (specification, section 4). */
const ASSERTION_LIFETIME_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5
const MAX_JTI_CHARACTERS = 256
const MIN_RSA_BITS = 2048

/** The public keys of each application, by client id and key id. */
export type Keys = ReadonlyMap<string, ReadonlyMap<string, KeyObject>>

/** Says why no token is issued, with an error code of RFC 6749, section 5.2. */
export class TokenError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, description: string) {
    super(description)
    this.status = status
    this.code = code
  }
}

function refused(description: string): TokenError {
  return new TokenError(401, 'invalid_client', description)
}

/**
 * Checks a client assertion: a JWT with which an application requests a token.
 *
 * @param audiences The values that `aud` may have.
 * @returns What must be used only once until the assertion has expired.
 * @throws TokenError when the assertion is refused.
 * @see RFC 7523, section 3
 */
export async function checkAssertion(
  assertion: string,
  keys: Keys,
  audiences: string[],
  nowMs: number,
): Promise<{ use: string; expiresAtMs: number }> {
  let kid: string | undefined
  let clientId: string | undefined
  try {
    ;({ kid } = decodeProtectedHeader(assertion))
    ;({ iss: clientId } = decodeJwt(assertion))
  } catch {
    throw new TokenError(400, 'invalid_request', 'client_assertion is not a signed JWT')
  }
  const key = keys.get(clientId ?? '')?.get(kid ?? '')
  // An unknown application and an unknown key get the same message, so that callers do not learn which of the two is wrong.
  if (key === undefined || clientId === undefined) throw refused('no application has this issuer and key id')
  const { payload } = await jwtVerify(assertion, key, {
    algorithms: [ASSERTION_ALGORITHM],
    issuer: clientId,
    subject: clientId,
    audience: audiences,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
    requiredClaims: ['iss', 'sub', 'aud', 'iat', 'exp', 'jti'],
  }).catch((cause: unknown) => {
    throw refused(describe(cause))
  })
  const { iat = 0, exp = 0, jti = '' } = payload
  if (exp - iat > ASSERTION_LIFETIME_SECONDS)
    throw refused(`the assertion lives longer than ${ASSERTION_LIFETIME_SECONDS} s`)
  if (iat > nowMs / 1000 + CLOCK_TOLERANCE_SECONDS)
    throw refused('the assertion is not yet valid: iat is in the future')
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_CHARACTERS)
    throw refused('jti is not a string of 1 to 256 characters')
  return { use: `${clientId} ${jti}`, expiresAtMs: (exp + CLOCK_TOLERANCE_SECONDS) * 1000 }
}

/** The addresses of the collector as clients may write them. */
export function audiencesOf(address: string, publicUrl: string | undefined): string[] {
  const own = new URL(address)
  const names = new Set([own.origin])
  // A loopback address can be written in several ways, and all of them mean this server.
  if (['127.0.0.1', 'localhost', '[::1]'].includes(own.hostname)) {
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) names.add(`http://${name}:${own.port}`)
  }
  if (publicUrl !== undefined) {
    // Both as written in the configuration and as clients normalise it: in lower case, without the default port.
    for (const name of [publicUrl, new URL(publicUrl).href]) names.add(name.replace(/\/+$/, ''))
  }
  return [...names].flatMap((base) => [base, `${base}/`, `${base}/token`])
}

/** @throws ConfigError when a public key cannot be used. */
export function readKeys(applications: readonly ApplicationConfig[]): Keys {
  return new Map(
    applications.map(({ clientId, keys }) => [
      clientId,
      new Map(keys.map(({ keyId, publicKey }) => [keyId, readKey(publicKey, keyId, clientId)])),
    ]),
  )
}

function readKey(pem: string, keyId: string, clientId: string): KeyObject {
  const where = `oauth: key ${JSON.stringify(keyId)} of ${JSON.stringify(clientId)}`
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch {
    throw new ConfigError(`${where}: not a public key in PEM`)
  }
  if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return key
  throw new ConfigError(`${where}: expected an RSA key of at least ${MIN_RSA_BITS} bits`)
}

/** Clients recognise a wrong clock by the words "expired" and "not yet valid". */
function describe(cause: unknown): string {
  if (cause instanceof errors.JWTExpired) return 'the assertion has expired'
  if (cause instanceof errors.JWTClaimValidationFailed) {
    if (cause.claim === 'nbf') return 'the assertion is not yet valid'
    return `the claim ${cause.claim} is ${cause.reason === 'missing' ? 'missing' : 'not as expected'}`
  }
  if (cause instanceof errors.JOSEAlgNotAllowed) return `the algorithm must be ${ASSERTION_ALGORITHM}`
  return 'the signature does not match'
}
