export type CheckName = 'key' | 'address' | 'proxy' | 'region' | 'clock' | 'event'

/** What one check has found. A `note` is worth knowing, but does not explain missing events by itself. */
export interface Finding {
  readonly check: CheckName
  readonly state: 'ok' | 'note' | 'problem'
  readonly text: string
  /** What to do; `undefined` if there is nothing to do. */
  readonly remedy?: string | undefined
}

export const ok = (check: CheckName, text: string): Finding => ({ check, state: 'ok', text })

export const note = (check: CheckName, text: string, remedy?: string): Finding => ({
  check,
  state: 'note',
  text,
  remedy,
})

export const problem = (check: CheckName, text: string, remedy: string): Finding => ({
  check,
  state: 'problem',
  text,
  remedy,
})
