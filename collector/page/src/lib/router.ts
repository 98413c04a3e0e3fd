import { signal } from '@preact/signals'

export interface Route {
  screen: string
  params: URLSearchParams
}

// The route is in the fragment of the address, not in the path: a search may contain personal data, and a fragment appears
// neither in logs nor in the `Referer` header.
function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { screen: path, params: new URLSearchParams(query) }
}

export const route = signal<Route>(readRoute())

type Params = Readonly<Record<string, string | number | undefined>>

/** Leaves out empty and `undefined` parameters. */
export function href(screen: string, params: Params = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return `#/${screen}${text === '' ? '' : `?${text}`}`
}

/** `undefined` removes a parameter of the current address. */
export function hrefWith(changes: Params): string {
  const { screen, params } = route.peek()
  return href(screen, { ...Object.fromEntries(params), ...changes })
}

/** With `replace`, adds no step for the back button, for example while the user types. */
export function go(address: string, { replace = false } = {}): void {
  if (address === location.hash) return
  if (replace) history.replaceState(history.state, '', address)
  else history.pushState({ isInside: true }, '', address)
  follow()
}

/** Goes back if the previous step was on this page, otherwise to `fallback`. So closing a panel never leaves the page. */
export function goBack(fallback: string): void {
  if ((history.state as { isInside?: boolean } | null)?.isInside === true) history.back()
  else go(fallback, { replace: true })
}

function follow(): void {
  route.value = readRoute()
}

addEventListener('popstate', follow)
addEventListener('hashchange', follow)
