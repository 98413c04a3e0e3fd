import process from 'node:process'

interface DenoPermissions {
  querySync(descriptor: { name: string }): { readonly state: string }
}

const { Deno } = globalThis as { Deno?: { readonly permissions?: DenoPermissions } }

/**
 * Whether the system may be asked about its processes and users. Deno would stop a program in a terminal to ask its user, and
 * gives `/proc` only to programs that may do all.
 */
export function mayAskSystem(): boolean {
  const permissions = Deno?.permissions
  if (permissions === undefined) return true
  return ['read', 'write', 'net', 'env', 'sys', 'run', 'ffi'].every(
    (name) => permissions.querySync({ name }).state === 'granted',
  )
}

/** Deno ends a program that throws without its listeners of `exit`. */
export const isDeno = Deno !== undefined

/** The user of this process; `undefined` where there are none, or it may not be asked. */
export function currentUser(): number | undefined {
  return mayAskSystem() ? process.getuid?.() : undefined
}
