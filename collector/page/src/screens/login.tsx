import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Brand, Button } from '../components/basics.tsx'
import { access, ask } from '../lib/http.ts'

export function LoginScreen() {
  const error = useSignal<string | undefined>(undefined)
  const isAsking = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  const login = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isAsking.peek()) return
    isAsking.value = true
    error.value = undefined
    try {
      const token = input.current?.value ?? ''
      await ask('login', { method: 'POST', body: new URLSearchParams({ token }) })
      // Reloads the same address, so that a link to an event still works after the login.
      location.reload()
    } catch (cause) {
      error.value = (cause as Error).message
      isAsking.value = false
      input.current?.select()
    }
  }
  return (
    <main class="door">
      <Brand />
      {access.value === 'closed' ? (
        <p>
          Other machines can reach this collector, so its page stays closed until it has an admin token. Start
          it with <code>--admin-token</code>, or with <code>TRACKPOST_ADMIN_TOKEN</code> in its environment,
          and reload this page. The collector accepts events in the meantime.
        </p>
      ) : (
        <form onSubmit={login}>
          <label>
            Admin token
            <input
              ref={input}
              name="token"
              type="password"
              autocomplete="current-password"
              required
              {...(error.value === undefined
                ? {}
                : { 'aria-invalid': true, 'aria-describedby': 'login-error' })}
            />
          </label>
          <p id="login-error" class="bad-text" role="alert">
            {error.value}
          </p>
          <Button type="submit" class="primary" aria-disabled={isAsking.value}>
            Log in
          </Button>
        </form>
      )}
    </main>
  )
}
