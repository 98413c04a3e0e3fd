// NestJS. Compile it with `nest build`, or with TypeScript and its options experimentalDecorators and emitDecoratorMetadata.
// Run it with TRACKPOST_WRITE_KEY=... PORT=8080.
//
// Every event that is tracked during a request gets the user, the IP address and the page of this request.
import 'reflect-metadata'
import { Body, Controller, Injectable, Module, type OnApplicationShutdown, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NextFunction, Request, Response } from 'express'
import { Analytics } from 'trackpost'
import { currentScope, requestScope, runWithScope } from 'trackpost/scope'

@Injectable()
class Tracking implements OnApplicationShutdown {
  readonly #analytics = new Analytics({
    writeKey: process.env['TRACKPOST_WRITE_KEY'] ?? '',
    // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
    host: process.env['TRACKPOST_HOST'],
    scope: currentScope,
  })

  /** Has the calls of the client, but requires no `userId` or `anonymousId`: the scope of the request adds the user. */
  readonly tracker = this.#analytics.with({})

  /** Nest calls this method after the last request has its response. */
  async onApplicationShutdown(): Promise<void> {
    await this.#analytics.closeAndFlush({ timeout: 8_000 })
  }
}

interface Order {
  orderId: string
  total: number
}

/** This class gets no request: the scope adds the user, the address and the page to its events. */
@Injectable()
class Orders {
  constructor(private readonly tracking: Tracking) {}

  async place({ orderId, total }: Order): Promise<void> {
    this.tracking.tracker.track({ event: 'Order Started', properties: { orderId } })
    await charge()
    this.tracking.tracker.track({ event: 'Order Completed', properties: { orderId, total } })
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post()
  async create(@Body() order: Order): Promise<{ placed: string }> {
    await this.orders.place(order)
    return { placed: order.orderId }
  }
}

@Module({ controllers: [OrdersController], providers: [Orders, Tracking] })
class AppModule {}

/** Stands in for a payment. */
function charge(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
}

const app = await NestFactory.create(AppModule, { logger: false })
// Behind a proxy: requestScope(request, { trustProxy: 1 }).
app.use((request: Request, _response: Response, next: NextFunction) => {
  runWithScope(requestScope(request), next)
})
// Scopes can be nested: this one adds the user.
app.use((request: Request, _response: Response, next: NextFunction) => {
  runWithScope({ userId: request.get('X-User-Id') }, next)
})
// Makes Nest call onApplicationShutdown at SIGTERM and SIGINT.
app.enableShutdownHooks()

await app.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1')
console.log(`listening on http://127.0.0.1:${app.getHttpServer().address().port}`)
