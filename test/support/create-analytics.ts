import { Analytics } from '../../src/analytics.ts'
import type { Callback } from '../../src/pipeline/context.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { FakeClock } from './fake-clock.ts'
import { type Reply, ScriptedClient } from './scripted-client.ts'

export const WRITE_KEY = 'wk_Zurich_7Qm4'

/** The constructor with its second parameter, which is not declared for users. */
const AnalyticsOnClock = Analytics as unknown as new (settings: AnalyticsSettings, clock: Clock) => Analytics

export interface Harness {
  readonly analytics: Analytics
  readonly clock: FakeClock
  readonly client: ScriptedClient
}

/** A client on a host whose time stands still, with a service that sends these replies; 200 by default. */
export function createAnalytics(
  settings: Partial<AnalyticsSettings> = {},
  replies: readonly Reply[] = [],
  clock = new FakeClock(),
): Harness {
  const client = new ScriptedClient(clock, replies.length > 0 ? replies : undefined)
  const analytics = new AnalyticsOnClock({ writeKey: WRITE_KEY, httpClient: client, ...settings }, clock)
  return { analytics, clock, client }
}

/** A callback that records the outcome of its calls: `delivered`, or the code of the failure. */
export function recordOutcomes(): { outcomes: string[]; callback: Callback } {
  const outcomes: string[] = []
  return {
    outcomes,
    callback: (error) => {
      outcomes.push(error === undefined ? 'delivered' : error.code)
    },
  }
}

/** Tracks `count` purchases, each with its number. */
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
