import * as z from 'zod'
import type { DestinationConfig } from '../config/schema.ts'
import { HttpProblem } from '../http/reply.ts'
import { destinations } from '../store/queries/destinations.ts'
import { eventDetail } from '../store/queries/event-detail.ts'
import { type Asking, found, type Routes } from './asking.ts'
import { readJson } from './body.ts'

const MAX_CHOSEN = 1000

const ids = z.array(z.string().min(1).max(100))
const retrySchema = z.strictObject({ ids: ids.max(MAX_CHOSEN).optional() })
const chosenSchema = z.strictObject({ ids: ids.min(1).max(MAX_CHOSEN) })
const replaySchema = z.strictObject({ destinations: z.array(z.string()).max(100).optional() })

export const DELIVERY_ROUTES: Routes = {
  'GET /api/destinations': ({ context, config }) => {
    const states = destinations(
      context,
      config.destinations.map(({ name }) => name),
    )
    return {
      destinations: config.destinations.map((one, index) => ({ ...publicFacts(one), ...states[index] })),
    }
  },
  'POST /api/destinations/:id/retry': async ({ id, config, store, wake, request }) => {
    const { ids } = await readJson(request, retrySchema)
    const destination = config.destinations.find(({ name }) => name === id)
    const { name } = found(destination, 'no_destination', 'there is no destination of this name')
    const retried = store.deliveries.retry(name, ids)
    wake()
    return { retried }
  },
  'POST /api/events/delete': async ({ store, request }) => ({
    deleted: store.delete((await readJson(request, chosenSchema)).ids),
  }),
  'POST /api/events/:id/replay': replay,
}

async function replay({ context, id, store, wake, request }: Asking): Promise<unknown> {
  const { destinations: names } = await readJson(request, replaySchema)
  const event = found(eventDetail(context, id), 'no_event', 'there is no event of this id')
  if (event.status !== 'accepted')
    throw new HttpProblem(409, 'not_accepted', 'only accepted events are delivered')
  const wanted = names ?? event.destinations.map(({ name }) => name)
  const replayed = wanted.filter((name) => store.deliveries.replay(name, id))
  wake()
  return { destinations: replayed }
}

function publicFacts(destination: DestinationConfig) {
  const { name, type, enabled: isEnabled } = destination
  if (destination.type === 'file') return { name, type, target: destination.path, isEnabled }
  // Credentials and the query are left out, since they may be secret.
  const { origin, pathname } = new URL(destination.url)
  return { name, type, target: `${origin}${pathname}`, isEnabled }
}
