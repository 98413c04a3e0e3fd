import type { Message } from '../../record.ts'
import type { TraitChange, UserDetail } from '../query-results.ts'

const MAX_HISTORY = 200

/** An identify or group event. */
export interface TraitsRow {
  seq: number
  kind: string
  name: string | null
  at: number
  body: string
}

/** The traits as identify set them one after another, and the groups. */
export class Traits {
  readonly #traits = new Map<string, unknown>()
  readonly #history: UserDetail['traitHistory'] = []
  readonly #groups = new Map<string, UserDetail['groups'][number]>()

  /** Takes events in the order in which they came. */
  add({ seq, kind, name, at, body }: TraitsRow): void {
    const data = entriesOf((JSON.parse(body) as Message).traits)
    const atText = new Date(at).toISOString()
    if (kind === 'group') {
      const groupId = name ?? ''
      this.#groups.set(groupId, { groupId, traits: Object.fromEntries(data), lastSeen: atText })
      return
    }
    const changes: TraitChange[] = []
    for (const [path, to] of data) {
      const from = this.#traits.get(path) ?? null
      if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ path, from, to })
      this.#traits.set(path, to)
    }
    if (changes.length > 0) this.#history.push({ at: atText, eventId: String(seq), changes })
  }

  get result(): Pick<UserDetail, 'traits' | 'traitHistory' | 'groups'> {
    return {
      traits: Object.fromEntries(this.#traits),
      traitHistory: this.#history.slice(-MAX_HISTORY),
      groups: [...this.#groups.values()],
    }
  }
}

function entriesOf(value: unknown): Array<[string, unknown]> {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
