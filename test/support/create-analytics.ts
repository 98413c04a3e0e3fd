import { Analytics } from '../../src/analytics.ts'
import type { Seams } from '../../src/core/create.ts'
import type { Callback } from '../../src/pipeline/context.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { FakeClock } from './fake-clock.ts'
import { type Reply, ScriptedClient } from './scripted-client.ts'

export const WRITE_KEY = 'wk_Zurich_7Qm4'

/** The constructor with its second parameter, which the public types leave out. */
export const AnalyticsOnClock = Analytics as unknown as new (
  settings: AnalyticsSettings,
  seams: Seams,
) => Analytics

export interface Harness {
  readonly analytics: Analytics
  readonly clock: FakeClock
  readonly client: ScriptedClient
}

/** Creates a client on a fake clock. A fake service sends these replies one after the other; by default always 200. */
export function createAnalytics(
  settings: Partial<AnalyticsSettings> = {},
  replies: readonly Reply[] = [],
  clock = new FakeClock(),
): Harness {
  const client = new ScriptedClient(clock, replies.length > 0 ? replies : undefined)
  const analytics = new AnalyticsOnClock({ writeKey: WRITE_KEY, httpClient: client, ...settings }, { clock })
  return { analytics, clock, client }
}

/** Creates a callback that records the outcome of each event: `delivered`, or the code of the failure. */
export function recordOutcomes(): { outcomes: string[]; callback: Callback } {
  const outcomes: string[] = []
  return {
    outcomes,
    callback: (error) => {
      outcomes.push(error === undefined ? 'delivered' : error.code)
    },
  }
}

export function trackPurchases(analytics: Analytics, count: number, callback?: Callback): void {
  for (let number = 1; number <= count; number++) {
    analytics.track(
      {
        userId: 'usr_Zoë',
        event: 'Commande passée',
        messageId: `purchase-${number}`,
        properties: { number, article: 'Thé à la menthe', price: 12.5 },
      },
      callback,
    )
  }
}
