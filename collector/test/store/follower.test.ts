import { expect, onTestFinished, test } from 'vitest'
import { Feed } from '../../src/store/feed.ts'
import { Follower } from '../../src/store/sqlite/follower.ts'
import { fakeClock } from '../support.ts'

test('results of deliveries that another process has stored beside new events are noticed', () => {
  const clock = fakeClock()
  const feed = new Feed({ lastSeq: 1, epoch: 1, revision: 5 }, { changed: () => {}, cleared: () => {} })
  let version = { data: 1, lastSeq: 1, epoch: 1 }
  const store = { version: () => version, isSameFile: () => true }
  const follower = new Follower(
    store,
    feed,
    clock,
    () => {},
    () => {},
  )
  onTestFinished(() => follower.close())
  follower.start()

  version = { data: 2, lastSeq: 2, epoch: 1 }
  clock.advance(250)

  expect(feed.state()).toMatchObject({ lastSeq: 2, revision: 6 })
})
