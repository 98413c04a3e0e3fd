import { KINDS, type Kind } from '../message/types.ts'
import type { PluginType } from './plugin.ts'
import { handles, type Registration } from './registration.ts'

/** The handlers of one kind of event, in the order in which they run. */
export interface Stages {
  /** `before`, then `enrichment`. */
  readonly front: readonly Registration[]
  readonly destinations: readonly Registration[]
  readonly after: readonly Registration[]
  readonly utilities: readonly Registration[]
}

/** The plugins of each kind of event. Those of one type keep their order. */
export function stagesOf(registrations: readonly Registration[]): Record<Kind, Stages> {
  const entries = KINDS.map((kind): [Kind, Stages] => {
    const of = (type: PluginType): Registration[] =>
      registrations.filter((one) => one.type === type && handles(one, kind))
    return [
      kind,
      {
        front: [...of('before'), ...of('enrichment')],
        destinations: of('destination'),
        after: of('after'),
        utilities: of('utility'),
      },
    ]
  })
  return Object.fromEntries(entries) as Record<Kind, Stages>
}
