// Runs the shop of program.mts for ported.test.ts, and prints its results: node drive.mjs PROGRAM. PROGRAM is the
// path of program.mts, compiled with @segment/analytics-node or with trackpost. This file imports neither library.
const { Shop, contextFor } = await import(process.argv[2] as string)

const seen: unknown[] = []
for (const level of ['log', 'debug', 'error', 'warn'] as const) {
  console[level] = (...values: unknown[]) => void seen.push([level, ...values.map(String)])
}

const shop = new Shop(process.env['SHOP_ENVIRONMENT'] ?? 'staging')
await shop.start()
const customer = {
  id: 17,
  email: 'ada@example.com',
  phone: null,
  name: 'Zoë',
  createdAt: new Date('2024-02-29T12:00:00.000Z'),
  company: { id: 3, name: 'Atelier', plan: null },
  address: null,
}
shop.signedUp(customer)
shop.loggedIn('visitor-7', '17')
shop.viewed('visitor-7', 'https://shop.example/prices', { source: 'news', medium: 'mail', name: 'spring' })
const order = { id: 'o1', total: 12.5, currency: 'EUR', coupon: null, lines: [{ sku: 'a', quantity: 2 }] }
const ordered = shop.ordered(customer, order)
await shop.checkpoint()
const ctx = await ordered
const bad = await shop.ordered(customer, { ...order, id: 'refused' }).then(
  () => 'delivered',
  (error: Error) => error.message,
)
const late = () => shop.ordered(customer, { ...order, id: 'late' }).catch(() => {})
shop.viewed('visitor-7', 'https://shop.example/private/', { source: 'x', medium: 'y', name: 'z' })
await shop.stop()
void late()

const made = contextFor(ctx.event)
const own = {
  id: ctx.id === ctx.toJSON().id,
  event: ctx.event.event,
  price: JSON.stringify(ctx.event.properties.price),
  made: made.event === ctx.event || made.event.event === ctx.event.event,
}
process.stdout.write(`${JSON.stringify({ seen, own, bad, late: shop.late })}\n`, () => process.exit(0))
