import { UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'

/** Reads the address of a collector. @throws UsageError */
export function toBase(text: string): URL {
  let base: URL
  try {
    base = new URL(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`)
  } catch {
    throw new UsageError(`expected the address of a collector, got ${printable(text)}`)
  }
  if (!/^https?:$/.test(base.protocol))
    throw new UsageError(`expected an http address, got ${printable(text)}`)
  if (base.port === '0') throw new UsageError('expected a port from 1 to 65535, got 0')
  const [path] = /\/v1\/batch\/?$/.exec(base.pathname) ?? []
  if (path !== undefined)
    throw new UsageError(`expected the address of a collector, got one that ends in ${path}; leave this out`)
  // The URL is an argument, so any user of the machine could see a password in it with `ps`.
  if (base.username !== '' || base.password !== '')
    throw new UsageError('the address must not hold credentials')
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  base.search = ''
  base.hash = ''
  return base
}
