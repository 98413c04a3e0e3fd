/** What a response changes: which requests follow it, and who is told. The table of docs/spec.md, sections 8 and 8.1, row by row. */
import { describe, expect, test } from 'vitest'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { status } from '../support/scripted-client.ts'
import { check, play, type Row } from './script.ts'

describe('after a request that failed', () => {
  test.each<Row>([
    [
      'one event of it is the control, and if that fails too, one at a time is asked after the backoff',
      'a, a 200, bc, bc 503, b 503, +500, c 503, +1000, b 200, c 200',
      '0 a, 0 bc, 0 b, 500 c, 1500 b, 1500 c',
    ],
    [
      'a control that is accepted makes the others suspects',
      'a, a 200, bc, bc 503, b 200, +499, +1, c 200',
      '0 a, 0 bc, 0 b, 500 c',
    ],
    [
      'so does a request beside it that is accepted',
      'a, a 200, BC, d, BC 503, d 200, B 200, +500, C 200',
      '0 a, 0 BC, 0 d, 0 B, 500 C',
      '0 B delivered, 500 C delivered',
    ],
    [
      'while another was accepted since it was sent, its halves go at once',
      'a, a 200, bcde, f, f 200, bcde 503, bc 200, de 503, +10, d 200, e 503, +500, e 200',
      '0 a, 0 bcde, 0 f, 0 bc, 0 de, 0 d, 0 e, 510 e',
    ],
    [
      'a single event waits for the backoff, and the next one goes first',
      'a, a 200, b, b 503, c, +499, +1, c 200, +500, b 200',
      '0 a, 0 b, 500 c, 1000 b',
    ],
    [
      'before anything was accepted, there is no control',
      'ab, ab 503, +500, a 503, +1000, b 503, +2000, a 503, +4000',
      '0 ab, 500 a, 1500 b, 3500 a, 7500 b',
    ],
    [
      'without a connection, it shuts the gate although another was accepted beside it',
      'a, a 200, b, c, c 200, b refused, d, +499, +1',
      '0 a, 0 b, 0 c, 500 d',
    ],
    [
      'without a connection, there is no control either, and everything goes back into its place',
      'a, a 200, bc, bc refused, d, +500, d 200, bc 200',
      '0 a, 0 bc, 500 d, 500 bc',
    ],
    [
      'a request beside it that fails as well is the same failure',
      'a, a 200, b, c, b 503, c 503, +500, b 503, +1000',
      '0 a, 0 b, 0 c, 500 b, 1500 c',
    ],
    [
      'a lost connection is tried again once, at once',
      'a, a 200, b, b reset, b reset, +500, b 200',
      '0 a, 0 b, 0 b, 500 b',
    ],
    [
      'a lost connection is not tried again at once while the gate is shut',
      'a, a 200, b, c, b 503, c reset, +500, b 200',
      '0 a, 0 b, 0 c, 500 b',
    ],
    [
      'nobody who waits is told before the control has failed too',
      'a, a 200, BC, BC 503, +10, B 503',
      '0 a, 0 BC, 0 B',
      '10 B retries_exhausted, 10 C retries_exhausted',
      { maxRetries: 0 },
    ],
    [
      'that another was accepted beside, half as many events go into the next',
      'a, a 200, bcde, f, f 200, bcde 503, ghij',
      '0 a, 0 bcde, 0 f, 0 bc, 0 de, 0 gh, 0 ij',
      '',
      { maxEventsInBatch: 4 },
    ],
    [
      'that another has failed beside, half as many events go into the next as after one',
      'abcd, efgh, abcd 503, efgh 503, +500, a 200',
      '0 abcd, 0 efgh, 500 a, 500 bc, 500 de, 500 fg, 500 h',
      '',
      { maxEventsInBatch: 4 },
    ],
    [
      'another event that waits for its turn is the control',
      'a, a 200, b, c, d, b 503',
      '0 a, 0 b, 0 c, 0 d',
      '',
      { maxConcurrentRequests: 2 },
    ],
    [
      'the other half of a refused batch is the control',
      'k, k 400, j, j 200, ab, ab 400, a 503',
      '0 k, 0 j, 0 ab, 0 a, 0 b',
      '',
      { maxConcurrentRequests: 1 },
    ],
    ['that asks for a wait, there is no control', 'a, a 200, bc, bc 503 3, +3000', '0 a, 0 bc, 3000 b'],
    ['that asks for no wait, there is one', 'a, a 200, bc, bc 503 0', '0 a, 0 bc, 0 b'],
    [
      'who waits for a slow one is not told after 10 s, as in a rate limit',
      'a, a 200, B, B 503, +500, +12000, B 200',
      '0 a, 0 B, 500 B',
      '12500 B delivered',
    ],
    [
      'half as many events go into one request, until whole batches are accepted',
      'abcd, abcd 503, +500, a 503, +1000, b 200, ac 200',
      '0 abcd, 500 a, 1500 b, 1500 ac, 1500 d',
      '',
      { maxEventsInBatch: 4 },
    ],
    [
      'one at a time, the oldest event counts as a whole batch when it gets through',
      'abcd, abcd 503, +500, a 200',
      '0 abcd, 500 a, 500 bcd',
      '',
      { maxEventsInBatch: 4, maxConcurrentRequests: 1 },
    ],
    [
      'one at a time, the oldest event is tried again first, and others before anybody is told',
      'a, a 200, bc, d, bc 503, +500, b 503, +1000, b 503, +2000, d 200, b 200, c 200',
      '0 a, 0 bc, 500 b, 1500 b, 3500 d, 3500 b, 3500 c',
      '',
      { maxConcurrentRequests: 1 },
    ],
    [
      'one at a time, what failed keeps its place when the oldest event gets through',
      'a, a 200, bc, d, bc 503, +500, b 200, cd 200',
      '0 a, 0 bc, 500 b, 500 cd',
      '',
      { maxConcurrentRequests: 1 },
    ],
    [
      'one at a time, others are tried first for 60 s after a bad event was found',
      'a, a 200, b, b 400, +60000, c, d, c 503',
      '0 a, 0 b, 60000 c, 60000 d',
      '',
      { maxConcurrentRequests: 1 },
    ],
    [
      'one at a time, the oldest is tried first again after these 60 s',
      'a, a 200, b, b 400, +60001, c, d, c 503, +500',
      '0 a, 0 b, 60001 c, 60501 c',
      '',
      { maxConcurrentRequests: 1 },
    ],
    [
      'every second probe of a long outage is as large as requests were before, and nobody waits any more',
      'A, A 200, bc, bc 503, b 503, +500, c 503, +1000, b 503, +2000, c 503, +4000, bc 503, +8000, b 503, +16000',
      '0 A, 0 bc, 0 b, 500 c, 1500 b, 3500 c, 7500 bc, 15500 b, 31500 c',
      '0 A delivered',
    ],
    [
      'one at a time, the oldest event is tried again first without a connection, too',
      'a, a 200, b, c, b refused, +500',
      '0 a, 0 b, 500 b',
      '',
      { maxConcurrentRequests: 1 },
    ],
  ])('%s', check)
})

/** An event fails alone, and then gets through. */
const REDEEMED = ', b, c, c 200, b 503, +500, b 200'

describe('a suspect', () => {
  test.each<Row>([
    [
      'is told after four failures alone, with the backoff between',
      'a, a 200, B, c, c 200, B 503, +500, B 503, +1000, B 503, +2000, B 503',
      '0 a, 0 B, 0 c, 500 B, 1500 B, 3500 B',
      '3500 B retries_exhausted',
    ],
    [
      'is not told while another request is in flight and none was accepted since',
      'a, a 200, B, c, c 200, B 503, d, +500, B 503, +1000, B 503, +2000, B 503, d 200, +4000, B 503',
      '0 a, 0 B, 0 c, 0 d, 500 B, 1500 B, 3500 B, 7500 B',
      '7500 B retries_exhausted',
    ],
    [
      'is not told while another event is due and none was accepted since',
      'a, a 200, k, k 400, B, c, B 503, c 200, +500, B 503, +1000, B 503, +2000, d, B 503, d 200, +4000, B 503',
      '0 a, 0 k, 0 B, 0 c, 500 B, 1500 B, 3500 B, 3500 d, 7500 B',
      '7500 B retries_exhausted',
      { maxConcurrentRequests: 1 },
    ],
    [
      'that nobody awaits is told once others are accepted between its failures',
      'a, a 200, bc, d, d 200, bc 503, b 503, c 200, +500, b 503, e, e 200, +1000, b 503, f, f 200, +2000, b 503, flush',
      '0 a, 0 bc, 0 d, 0 b, 0 c, 500 b, 500 e, 1500 b, 1500 f, 3500 b',
      '3500 flush 0/0/0',
    ],
    [
      'that fails while the service is in question is not counted',
      'a, a 200, B, c, c 200, B 503, +500, d, d 503, B 503, +500, d 200, B 503, +1000, B 503, +2000, B 503',
      '0 a, 0 B, 0 c, 500 B, 500 d, 1000 d, 1000 B, 2000 B, 4000 B',
      '4000 B retries_exhausted',
    ],
    [
      'is told when it has failed alone for as long as an outage may take',
      'a, a 200, B, c, c 200, B 503, +500, B 503, +1000, B 503, +2000, B 503',
      '0 a, 0 B, 0 c, 500 B, 1500 B, 3500 B',
      '3500 B deadline',
      { maxRetries: 99, maxTotalBackoffDuration: 2 },
    ],
    [
      'gets more attempts where others have got through after they had failed alone',
      `a, a 200${REDEEMED.repeat(3)}, B, c, c 200, B 503, +500, B 503, +1000, B 503, +2000, B 503, +4000`,
      '0 a, 0 b, 0 c, 500 b, 500 b, 500 c, 1000 b, 1000 b, 1000 c, 1500 b, 1500 B, 1500 c, 2000 B, 3000 B, 5000 B, 9000 B',
    ],
    [
      'gets no more than were set even then',
      `a, a 200${REDEEMED.repeat(3)}, B, c, c 200, B 503, +500, B 503, +1000, B 503, +2000, B 503`,
      '0 a, 0 b, 0 c, 500 b, 500 b, 500 c, 1000 b, 1000 b, 1000 c, 1500 b, 1500 B, 1500 c, 2000 B, 3000 B, 5000 B',
      '5000 B retries_exhausted',
      { maxRetries: 3 },
    ],
    [
      'takes at most half of the requests at once',
      'a, a 200, bcdefghi, k, k 200, bcdefghi 503, bcde 503',
      '0 a, 0 bcdefghi, 0 k, 0 bcde, 0 fghi, 0 bc',
    ],
    [
      'takes one of two requests at once',
      'a, a 200, bcdefghi, k, k 200, bcdefghi 503',
      '0 a, 0 bcdefghi, 0 k, 0 bcde',
      '',
      { maxConcurrentRequests: 2 },
    ],
    [
      'takes one of the two requests at once that a rate limit has left',
      'a, a 200, k, l, m, k 429 1, l 200, m 200, +1000, k 200, bcdefghi, n, n 200, bcdefghi 503, o',
      '0 a, 0 k, 0 l, 0 m, 1000 k, 1000 bcdefghi, 1000 n, 1000 bcde, 1000 o',
    ],
    [
      'that fails as the first request after a rate limit is no outage: others go at once',
      'a, a 200, BC, k, k 200, BC 503, B 429 1, C 429 1, +1000, B 503, C 200, +500, B 200',
      '0 a, 0 BC, 0 k, 0 B, 0 C, 1000 B, 1000 C, 1500 B',
      '1000 C delivered, 1500 B delivered',
    ],
    [
      'is not the first request after a rate limit while others are due',
      'a, a 200, bc, k, k 200, bc 503, b 429 1, c 429 1, d, +1000, d 200',
      '0 a, 0 bc, 0 k, 0 b, 0 c, 1000 d, 1000 b',
    ],
    [
      'that cannot reach the service waits for the end of the outage',
      'a, a 200, b, k, b 503, k 200, +500, b refused, +500, b refused, +1000, b refused, +2000, b refused, +4000, b 200',
      '0 a, 0 b, 0 k, 500 b, 1000 b, 2000 b, 4000 b, 8000 b',
    ],
    [
      'that fails in an outage is not asked again before the other suspects',
      'a, a 200, BC, k, k 200, BC 503, B 401, C 401, +500, B 503, +1000, C 200, B 200',
      '0 a, 0 BC, 0 k, 0 B, 0 C, 500 B, 1500 C, 1500 B',
      '1500 C delivered, 1500 B delivered',
    ],
    [
      'that is the eighth to fail with nothing accepted between puts the service in question',
      'a, a 200, bcdefghi, k, k 200, bcdefghi 503, bcde 503, fghi 503, bc 503, de 503, fg 503, hi 503, b 503, c 503, +499, +1',
      '0 a, 0 bcdefghi, 0 k, 0 bcde, 0 fghi, 0 bc, 0 de, 0 fg, 0 hi, 0 b, 0 c, 0 d, 500 e',
    ],
    [
      'is a part that the control says nothing about',
      'a, a 200, bc, bc 503, b 400, +500',
      '0 a, 0 bc, 0 b, 500 c',
    ],
    [
      'ends with the code of a refusal',
      'a, a 200, B, c, B 403, c 200, +500, B 403, +1000, B 403, +2000, B 403, d, d 200',
      '0 a, 0 B, 0 c, 500 B, 1500 B, 3500 B, 3500 d',
      '3500 B auth',
    ],
    [
      'whose credentials are refused shuts the gate',
      'a, a 200, B, c, B 403, c 200, +500, B 401, d, +500',
      '0 a, 0 B, 0 c, 500 B, 1000 d',
    ],
  ])('%s', check)
})

describe('a wait that the service asks for', () => {
  test.each<Row>([
    ['with a failure is the least wait', 'a, a 200, b, b 503 3, +2999, +1', '0 a, 0 b, 3000 b'],
    [
      'with a failure is no longer than the backoff where that is longer',
      'a, a 200, B, B 503 1, +1000, B 503 1, +1000, B 503 1, +1999, +1',
      '0 a, 0 B, 1000 B, 2000 B, 4000 B',
    ],
    [
      'with failures ends for who awaits an event after 10 s',
      'A, A 503 5, +5000, A 503 5, +4999, +1',
      '0 A, 5000 A',
      '10000 A retries_exhausted',
    ],
    [
      'with failures does not make the set number of requests smaller',
      'A, A 503 5, +5000, A 503 5, +5000, A 503 5, +5000, A 200',
      '0 A, 5000 A, 10000 A, 15000 A',
      '15000 A delivered',
      { maxRetries: 3 },
    ],
    [
      'of more than 8 s with a failure is a rate limit, whatever number of requests is set',
      'A, A 503 9, +9000, A 503 9, +999, +1',
      '0 A, 9000 A',
      '10000 A retries_exhausted',
      { maxRetries: 3 },
    ],
    [
      'that ends after the close ends the close at once, whatever number of requests is set',
      'a, a 503 20, close 15000',
      '0 a',
      '0 close 0/1/0',
      { maxRetries: 3 },
    ],
    ['with 429 replaces the backoff', 'A, A 429 2, +1999, +1, A 200', '0 A, 2000 A', '2000 A delivered'],
    [
      'with 429 to several requests means fewer at once afterwards',
      'a, a 200, b, c, d, b 429 1, c 429 1, d 200, +1000, bc 200, e, f, g, +10, e 200, +10, fg 200',
      '0 a, 0 b, 0 c, 0 d, 1000 bc, 1000 e, 1010 fg',
    ],
    [
      'with 429 ends although a request beside it still hangs: one goes first, and others follow',
      'a, a 200, B, c, B 429 1, +1000, B 200, d, e',
      '0 a, 0 B, 0 c, 1000 B, 1000 d',
      '1000 B delivered',
    ],
    [
      'and that 429 does not name grows with each',
      'A, A 429, +500, A 429, +1000, A 429, +2000, A 200',
      '0 A, 500 A, 1500 A, 3500 A',
      '3500 A delivered',
    ],
    [
      'is made longer by a request beside it',
      'a, a 200, b, c, b 429 5, +1000, c 429 5, +4999, +1, bc 200',
      '0 a, 0 b, 0 c, 6000 bc',
    ],
    [
      'by a request beside a failed one is obeyed',
      'a, a 200, b, c, b 503, c 503 9, +8999, +1',
      '0 a, 0 b, 0 c, 9000 b',
    ],
    [
      'by the second of two failed requests limits the rate if it is long',
      'a, a 200, B, c, B 503 1, c 503 120, +9999, +1',
      '0 a, 0 B, 0 c',
      '10000 B retries_exhausted',
    ],
    [
      'with 429 after a refusal of the credentials is told as a rate limit',
      'a, a 200, B, B 403, +500, B 429 60, +9500',
      '0 a, 0 B, 500 B',
      '10000 B retries_exhausted',
    ],
    [
      'with 429 ends after 10 s for each event, counted from when it became due in the midst of the request',
      'A, +6000, B, +2000, A 429 60, +2000, +6000',
      '0 A',
      '10000 A retries_exhausted, 16000 B retries_exhausted',
      { maxConcurrentRequests: 1 },
    ],
    [
      'and that 429 and 503 do not name in turn ends for who waits after 10 s',
      'a, a 200, B, B 503, +500, B 429, +1000, B 503, +2000, B 429, +4000, B 503, +2499, +1',
      '0 a, 0 B, 500 B, 1500 B, 3500 B, 7500 B',
      '10000 B retries_exhausted',
    ],
    [
      'is not made shorter by a request beside it',
      'a, a 200, b, c, b 429 9, c 429 5, +8999, +1, bc 200',
      '0 a, 0 b, 0 c, 9000 bc',
    ],
    [
      'is obeyed too when it comes after the gate has opened again',
      'a, a 200, b, c, b 503, +500, b 200, c 429 5, +4999, +1, c 200',
      '0 a, 0 b, 0 c, 500 b, 5500 c',
    ],
    [
      'and that a late 429 does not name shuts nothing',
      'a, a 200, b, c, b 503, +500, b 200, c 429, flush, +20000',
      '0 a, 0 b, 0 c, 500 b, 500 c',
    ],
    [
      'ends for each event of a batch that is awaited, and the others go on',
      'k, k 200, ABcD, ABcD 400, AB 429 60, +60000, c 200',
      '0 k, 0 ABcD, 0 AB, 60000 c',
      '10000 A retries_exhausted, 10000 B retries_exhausted, 10000 D retries_exhausted',
      { maxConcurrentRequests: 1 },
    ],
    ['of 8 s with a failure is no rate limit', 'A, A 503 8, +5000', '0 A', '', { maxRateLimitDuration: 5 }],
    [
      'goes on when a request beside it is accepted',
      'a, a 200, b, c, b 503 5, c 200, +4999, +1, b 200',
      '0 a, 0 b, 0 c, 5000 b',
    ],
    [
      'goes on then for those who wait as well: they are told after 10 s',
      'a, a 200, b, c, b 503 60, c 200, D, +9999, +1',
      '0 a, 0 b, 0 c',
      '10000 D retries_exhausted',
    ],
    ['F50: with a success is obeyed', 'a, a 200, b, b 200 5, c, +4999, +1', '0 a, 0 b, 5000 c'],
    [
      'after a success counts from there for those who wait',
      'a, a 200, B, c, +5000, c 200, +4000, B 429 60, +5999, +1',
      '0 a, 0 B, 0 c',
      '15000 B retries_exhausted',
    ],
    [
      'sends the halves of a batch again as they are',
      'abcd, abcd 400, ab 429 5, cd 200, +4999, +1',
      '0 abcd, 0 ab, 0 cd, 5000 ab',
    ],
    [
      'of 8 s with a success is no rate limit: who waits for longer is not told',
      'a, a 200, b, b 200 8, CD, +8000, +3000, C 200, D 200',
      '0 a, 0 b, 8000 C, 11000 D',
      '11000 C delivered, 11000 D delivered',
      { maxEventsInBatch: 1 },
    ],
    [
      'of more than 8 s with a success is a rate limit: who waits is told after 10 s',
      'a, a 200, b, b 200 11, C, +9999, +1',
      '0 a, 0 b',
      '10000 C retries_exhausted',
    ],
    [
      'of a rate limit still counts from its begin when a request beside it is accepted',
      'a, a 200, B, c, B 429 60, +3000, c 200, +6999, +1',
      '0 a, 0 B, 0 c',
      '10000 B deadline',
      { maxRateLimitDuration: 10 },
    ],
    [
      'is no longer than an outage may take',
      'A, A 503 60, +4999, +1',
      '0 A',
      '5000 A deadline',
      { maxTotalBackoffDuration: 5 },
    ],
  ])('%s', check)
})

describe('a refusal of the address or the credentials', () => {
  test.each<Row>([
    [
      'before anything was accepted fails at once, and what is due then too',
      'A, A 403, B, +500, B 403',
      '0 A, 500 B',
      '0 A auth, 500 B auth',
    ],
    ['has a control if it may be about the events', 'a, a 200, bc, bc 403', '0 a, 0 bc, 0 b'],
    ['has none if it is about the credentials', 'a, a 200, bc, bc 407, +500', '0 a, 0 bc, 500 b'],
    [
      'later is told like an outage, with its code',
      'a, a 200, B, B 404, +500, B 404, +1000, B 404, +2000, B 404',
      '0 a, 0 B, 500 B, 1500 B, 3500 B',
      '3500 B rejected',
    ],
  ])('%s', check)
})

describe('a batch', () => {
  test.each<Row>([
    [
      'that was too large is sent in halves, one at a time',
      'abcd, abcd 413, ab 413, a 413, b 200, cd 200, e, f',
      '0 abcd, 0 ab, 0 a, 0 b, 0 cd, 0 e, 0 f',
    ],
    [
      'that waits behind one that was too large is sent in smaller parts, too',
      'abcdefgh, abcdefgh 413, abcd 413, ab 200, cd 200, ef 200, gh 200',
      '0 abcdefgh, 0 abcd, 0 ab, 0 cd, 0 ef, 0 gh',
    ],
    ['of one event that was too large makes no other smaller', 'a, a 413, bc', '0 a, 0 bc'],
    [
      'that was refused is halved, and its halves go at once',
      'abcd, abcd 400, cd 400, ab 400, a 200, b 400, c 400, d 200',
      '0 abcd, 0 ab, 0 cd, 0 c, 0 d, 0 a, 0 b',
    ],
    [
      'that was refused makes the next one half as large, and one that is accepted twice as large again',
      'abcd, abcd 400, ab 200, cd 200, efgh, ef 200, gh 200, ijkl',
      '0 abcd, 0 ab, 0 cd, 0 ef, 0 gh, 0 ijkl',
      '',
      { maxEventsInBatch: 4 },
    ],
  ])('%s', check)
})

describe('who waits', () => {
  test.each<Row>([
    [
      'for a flush is told after four failures',
      'a, a 200, b, flush, b 503, +500, b 503, +1000, b 503, +2000, b 503',
      '0 a, 0 b, 500 b, 1500 b, 3500 b',
      '3500 flush 0/0/1',
    ],
    [
      'for a flush is told of the events before it alone',
      'a, flush, b, b 200, a 200',
      '0 a, 0 b',
      '0 flush 1/0/0',
    ],
    [
      'for a flush that began after one failure, after the fifth',
      'a, a 200, b, b 503, flush, +500, b 503, +1000, b 503, +2000, b 503, +4000, b 503',
      '0 a, 0 b, 500 b, 1500 b, 3500 b, 7500 b',
      '7500 flush 0/0/1',
    ],
    [
      'for a flush is told of events that fail with wrong settings, with no retries too',
      'ab, flush, ab 401',
      '0 ab',
      '0 flush 0/2/0',
      { maxRetries: 0 },
    ],
    [
      'for a flush is told when a suspect has failed often enough, and nothing else can be asked',
      'a, a 200, b, c, flush, b 503, c 200, +500, b 503, +1000, b 503, +2000, b 503',
      '0 a, 0 b, 0 c, 500 b, 1500 b, 3500 b',
      '3500 flush 1/0/1',
    ],
    [
      'for a flush is not told of a suspect while another request is in flight',
      'a, a 200, b, c, c 200, d, flush, b 503, +500, b 503, +1000, b 503, +2000, b 503, d 200, +4000, b 503',
      '0 a, 0 b, 0 c, 0 d, 500 b, 1500 b, 3500 b, 7500 b',
      '7500 flush 1/1/0',
    ],
    [
      'for a close is told with the outcome of a suspect',
      'a, a 200, b, c, close, b 503, c 200, +500, b 503, +1000, b 503, +2000, b 503',
      '0 a, 0 b, 0 c, 500 b, 1500 b, 3500 b',
      '3500 close 1/1/0',
    ],
    [
      'for an event in flight is told when it comes back, after four others have failed',
      'a, a 200, b, X, b 503, +500, b 503, +1000, b 503, +2000, b 503, X 503',
      '0 a, 0 b, 0 X, 500 b, 1500 b, 3500 b',
      '3500 X retries_exhausted',
    ],
    [
      'for an event in flight is told then also when it comes back with 429',
      'a, a 200, b, X, b 503, +500, b 503, +1000, b 503, +2000, b 503, X 429 60',
      '0 a, 0 b, 0 X, 500 b, 1500 b, 3500 b',
      '3500 X retries_exhausted',
    ],
    [
      'for a close in an outage is told after four failures',
      'a, close, a 503, +500, a 503, +1000, a 503, +2000, a 503',
      '0 a, 500 a, 1500 a, 3500 a',
      '3500 close 0/1/0',
    ],
    [
      'since a time late in an outage is told after the next failure',
      'a, a 200, b, b 503, +500, b 503, +1000, b 503, +2000, b 503, C, +4000, C 503',
      '0 a, 0 b, 500 b, 1500 b, 3500 b, 7500 C',
      '7500 C retries_exhausted',
    ],
    [
      'makes the wait of an outage shorter',
      'a, a 200, b, b 503, +500, b 503, +1000, b 503, +2000, b 503, +4000, b 503, +8000, b 503, C, +3999, +1, C 503',
      '0 a, 0 b, 500 b, 1500 b, 3500 b, 7500 b, 15500 b, 19500 C',
      '19500 C retries_exhausted',
    ],
    [
      'for a flush in a rate limit is told after 10 s',
      'a, a 200, b, b 429 60, flush, +9999, +1',
      '0 a, 0 b',
      '10000 flush 0/0/1',
    ],
    [
      'for a close in a rate limit waits for its end',
      'a, a 200, b, b 429 60, close, +60000, b 200',
      '0 a, 0 b, 60000 b',
      '60000 close 1/0/0',
    ],
    [
      'for a close is told at its end also of what is held',
      'a, a 200, BC, BC 503, close 100, +100',
      '0 a, 0 BC, 0 B',
      '100 C shutdown_timeout, 100 B shutdown_timeout, 100 close 0/2/0',
    ],
    [
      'for a close is told at its end also of the halves of a refused batch',
      'a, a 200, BCDE, BCDE 400, close 100, +100',
      '0 a, 0 BCDE, 0 BC',
      '100 D shutdown_timeout, 100 E shutdown_timeout, 100 B shutdown_timeout, 100 C shutdown_timeout, 100 close 0/4/0',
      { maxConcurrentRequests: 1 },
    ],
    [
      'for a close that ends before the backoff of a rate limit is told at its end',
      'a, a 200, b, b 429, close 100, +100',
      '0 a, 0 b',
      '100 close 0/1/0',
    ],
    [
      'for a close that ends before the rate limit is told at once',
      'a, a 200, b, b 429 60, close 50000',
      '0 a, 0 b',
      '0 close 0/1/0',
    ],
  ])('%s', check)
})

describe('a service that has refused eight events alone', () => {
  const refused = [...'abcdefgh'].map((event) => `${event}, ${event} 400`).join(', ')
  const sent = [...'abcdefgh'].map((event) => `0 ${event}`).join(', ')
  const nine = ', mn, mn 400'.repeat(9)

  test.each<Row>([
    ['gets no halves any more', `${refused}, ijkl, ijkl 400`, `${sent}, 0 ijkl`],
    [
      'gets halves of every tenth',
      `${refused}${nine}, kl, kl 400`,
      `${sent}${', 0 mn'.repeat(9)}, 0 kl, 0 k, 0 l`,
    ],
    [
      'gets no event alone twice, nor as the tenth',
      `${refused}${', m, m 400'.repeat(9)}, k, k 400`,
      `${sent}${', 0 m'.repeat(9)}, 0 k`,
    ],
    [
      'gets halves again after one was accepted',
      `${refused}, i, i 200, kl, kl 400`,
      `${sent}, 0 i, 0 kl, 0 k, 0 l`,
    ],
  ])('%s', check)
})

test.each([
  ['an outage', 503],
  ['a rate limit', 429],
])('who is told in %s finds room for as many events as are told', async (_name, code) => {
  const { analytics, clock } = createAnalytics({ maxQueueSize: 2 }, [status(code)])
  const { outcomes, callback } = recordOutcomes()
  let told = 0
  trackPurchases(analytics, 2, () => {
    if (++told === 1) trackPurchases(analytics, 2, callback)
  })
  void analytics.flush()
  await clock.advance(10_000)

  expect([told, outcomes]).toEqual([2, []])
})

test('an outage is told after four failures, and its end after a success, with the number of waiting events', async () => {
  const clock = new FakeClock()
  clock.random = () => 0
  const { analytics, client } = createAnalytics({ flushAt: 3 }, [status(503)], clock)
  const warnings: unknown[] = []
  analytics.on('warning', ({ code, reason }) => warnings.push([code, (reason as Error).message]))
  trackPurchases(analytics, 3)
  await clock.advance(3_499)
  expect(warnings).toEqual([])
  await clock.advance(1)
  const began =
    'the service has taken no request since 2026-11-20T09:30:00.000Z ([503] Service Unavailable). Events that wait: 3.'
  expect(warnings).toEqual([['outage', began]])
  client.answerWith(status(200))
  await clock.advance(4_000)

  const ended = 'the service takes requests again after 8 s. Events that wait: 3.'
  expect(warnings.slice(1)).toEqual([['outage', ended]])
})

test.each([
  ['maxTotalBackoffDuration', 503],
  ['maxRateLimitDuration', 429],
])('after %s, an event fails with the last failure of the service as the cause', async (name, code) => {
  const { analytics, clock } = createAnalytics({ flushAt: 1, [name]: 5 }, [status(code)])
  const reasons: unknown[] = []
  analytics.on('error', ({ reason }) => reasons.push(reason))
  analytics.on('warning', () => {})
  trackPurchases(analytics, 1)
  await clock.advance(5_000)

  expect(reasons).toMatchObject([
    { code: 'deadline', status: code, cause: { code: 'deadline', status: code } },
  ])
})

test('status shows no pause when the gate was opened before its time', async () => {
  const { analytics } = await play('a, a 200, b, c, b 503 60')
  expect(analytics.status.pausedUntil).toBeDefined()
  expect(analytics.status.queuedBytes).toBeGreaterThan(0)
  const opened = await play('a, a 200, b, c, b 503, c 200')

  expect(opened.analytics.status.pausedUntil).toBeUndefined()
})
