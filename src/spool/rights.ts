import process from 'node:process'

interface DenoPermissions {
  querySync(descriptor: { name: string }): { readonly state: string }
}

const { Deno } = globalThis as { Deno?: { readonly permissions?: DenoPermissions } }

/**
 * Whether the program may read facts about processes and users. Without permission, Deno would prompt the user in a terminal.
 * Deno allows `/proc` only with all permissions.
 */
export function mayAskSystem(): boolean {
  const permissions = Deno?.permissions
  if (permissions === undefined) return true
  return ['read', 'write', 'net', 'env', 'sys', 'run', 'ffi'].every(
    (name) => permissions.querySync({ name }).state === 'granted',
  )
}

/** The user id of this process; `undefined` on systems without user ids, or when it may not be read. */
export function currentUser(): number | undefined {
  return mayAskSystem() ? process.getuid?.() : undefined
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
