import { expect, test } from 'vitest'
import { compose } from '../../src/client/compose.ts'
import { Emitter } from '../../src/client/emitter.ts'
import { SlabStore } from '../../src/delivery/slabs.ts'
import type { StoredMessage } from '../../src/delivery/store.ts'
import type { AnalyticsEvents } from '../../src/events.ts'
import type { Context } from '../../src/pipeline/context.ts'
import type { PluginHost } from '../../src/pipeline/plugin.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { ScriptedClient } from '../support/scripted-client.ts'

/** A store that has messages of an earlier life of the process. */
class KeptStore extends SlabStore {
  readonly #kept: StoredMessage[]

  constructor(messages: readonly object[]) {
    super()
    this.#kept = messages.map((message) => this.put(JSON.stringify(message)))
  }

  override recover(): Iterable<StoredMessage> {
    return this.#kept
  }
}

test('what its store has kept from an earlier life of the process is sent first, and accounted for', async () => {
  const clock = new FakeClock()
  const client = new ScriptedClient(clock)
  const emitter = new Emitter<AnalyticsEvents>()
  const delivered: string[] = []
  emitter.on('track', (ctx: Context) => delivered.push(ctx.id))
  const kept = ['a', 'b'].map((messageId) => ({
    type: 'track',
    messageId,
    timestamp: '2026-11-20T09:30:00.000Z',
  }))

  const { intake, ledger, lifecycle } = compose(
    resolveSettings({ writeKey: 'wk_Zurich_7Qm4', httpClient: client }),
    clock,
    emitter as Emitter<AnalyticsEvents> & PluginHost,
    new KeptStore(kept),
  )
  intake.submit('track', { userId: 'usr_Zoë', event: 'Commande passée', messageId: 'c' }, undefined)
  const summary = await lifecycle.flush(undefined)

  expect(client.requests[0]?.batch.slice(0, 2)).toEqual(kept)
  expect(delivered).toEqual(['a', 'b', 'c'])
  expect(summary).toEqual({ delivered: 3, failed: 0, pending: 0 })
  expect(ledger.stats()).toMatchObject({ accepted: 3, delivered: 3, pending: 0 })
})
