import { expect, test } from 'vitest'
import { TrackingPlan } from '../../src/plan/plan.ts'
import { openCollector, post } from '../support.ts'

/** @param newStore Resolves with the address of an empty store. */
export function describeCatalogue(newStore: () => Promise<string>): void {
  test('events that are rare among the newest have their properties in the catalogue, the plan and their entry', async () => {
    const collector = await openCollector({ store: await newStore() })
    const orders = Array.from({ length: 40 }, (_item, n) => ({
      type: 'track',
      userId: 'ada',
      event: 'Order Completed',
      properties: { total: n },
    }))
    const identify = { type: 'identify', userId: 'ada', traits: { plan: 'pro' } }
    const nameless = { type: 'track', userId: 'ada' }
    await post(collector, '/v1/batch', { batch: [...orders, identify] })
    await post(collector, '/v1/track', nameless)
    for (let part = 0; part < 3; part++) {
      const batch = Array.from({ length: 1000 }, () => ({ type: 'page', userId: 'ada', name: 'Home' }))
      expect((await post(collector, '/v1/batch', { batch })).status).toBe(200)
    }

    const { entries, sampled, isComplete } = await (await fetch(`${collector.url}/api/catalogue`)).json()
    const plan = await (await fetch(`${collector.url}/api/catalogue?format=schema`)).json()
    const byKey = Object.fromEntries(entries.map((one: { key: string }) => [one.key, one]))

    expect(isComplete).toBe(true)
    expect(sampled).toBeGreaterThan(21)
    expect(byKey['track:Order Completed']).toMatchObject({ sampled: 20, properties: 1, violations: 0 })
    expect(byKey['page:Home']).toMatchObject({ properties: 0 })
    expect(byKey['identify']).toMatchObject({ sampled: 1, properties: 1 })
    expect(byKey['track:']).toMatchObject({ accepted: 0, sampled: 0, properties: null, violations: 0 })
    expect(plan).toMatchObject({
      track: { 'Order Completed': { properties: { total: { type: 'integer' } }, required: ['total'] } },
      identify: { properties: { plan: { type: 'string' } } },
    })
    expect(plan).not.toHaveProperty('description')
    expect(new TrackingPlan({ ...plan, additionalEvents: false }).check('page', 'Home', {})).toEqual([])
  })

  test('O17: a property that one old event lacks is not required, nor is a key in arrays of events that were not read', async () => {
    const collector = await openCollector({ store: await newStore() })
    const order = (properties: object) => ({ type: 'track', userId: 'ada', event: 'Order', properties })
    const at = { city: 'Köln', street: 'Ring' }
    await post(collector, '/v1/track', order({ total: 1, at: { city: null }, items: [{}] }))
    const batch = Array.from({ length: 1100 }, () => order({ total: 1, note: 'x', at, items: [{ id: 1 }] }))
    await post(collector, '/v1/batch', { batch })
    await post(collector, '/v1/batch', { batch })
    await post(collector, '/v1/batch', {
      batch: batch.slice(0, 5).map((one) => ({ ...one, event: 'Short' })),
    })

    const entry = await (await fetch(`${collector.url}/api/catalogue/Order`)).json()
    const plan = await (await fetch(`${collector.url}/api/catalogue?format=schema`)).json()

    for (const { required, properties } of [entry.schema, plan.track.Order]) {
      expect(required).toEqual(['at', 'items', 'total'])
      expect(properties.at.required).toEqual(['city'])
      expect(properties.items.items).not.toHaveProperty('required')
    }
    expect(entry).toMatchObject({ key: 'track:Order', sampled: 500 })
    expect(plan.track.Short.required).toEqual(['at', 'items', 'note', 'total'])
    expect(plan.track.Short.properties.items.items.required).toEqual(['id'])
  })
}
