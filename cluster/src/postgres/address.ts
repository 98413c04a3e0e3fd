import { decoded } from 'trackpost-collector/ports'

/**
 * Replaces the `sslmode` values `prefer`, `require` and `verify-ca` by `verify-full`. The PostgreSQL client `pg` treats all of
 * them as `verify-full`, but prints a long warning that its next major version will not.
 */
export function withPlainSslMode(address: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(address)) return address
  return address.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full')
}

/** Replaces the password of `address` by `***` in `text`. */
export function withoutPassword(text: string, address: string): string {
  const given = URL.canParse(address) ? new URL(address).password : ''
  if (given === '') return text
  return [given, decoded(given)].reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
