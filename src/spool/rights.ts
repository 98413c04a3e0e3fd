interface DenoPermissions {
  querySync(descriptor: { name: string }): { readonly state: string }
}

const { Deno } = globalThis as { Deno?: { readonly permissions?: DenoPermissions } }

/** Otherwise, Deno would prompt the user in a terminal. It allows `/proc` only with all permissions. */
export function mayAskSystem(): boolean {
  const permissions = Deno?.permissions
  if (permissions === undefined) return true
  return ['read', 'write', 'net', 'env', 'sys', 'run', 'ffi'].every(
    (name) => permissions.querySync({ name }).state === 'granted',
  )
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
