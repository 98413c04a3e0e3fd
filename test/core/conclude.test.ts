/** What a response changes: which requests follow it, and who is told. The rule of docs/spec.md, section 8, row by row. */
import { describe, test } from 'vitest'
import { check, checkPerRequest, type Row } from './script.ts'

describe('a request fails, and something was accepted since it was sent', () => {
  test.each<Row>([
    [
      'its halves go as parts, at once; one alone waits for the backoff, longer each time',
      'a, a 200, bcde, f, f 200, bcde 503, bc 200, de 503, e 200, d 503, +499, +1, d 503',
      '0 a, 0 bcde, 0 f, 0 bc, 0 de, 0 d, 0 e, 500 d',
    ],
    [
      'one event ends with the last error after maxRetries + 1 strikes, while others are accepted',
      'a, a 200, B, c, c 200, B 503, d, +500, d 200, B 500, e, +1000, e 200, B 502, f, +2000, f 200, B 504',
      '0 a, 0 B, 0 c, 0 d, 500 B, 500 e, 1500 B, 1500 f, 3500 B',
      '3500 B retries_exhausted',
    ],
    [
      'with maxRetries 0, the first strike is the last',
      'a, a 200, B, c, c 200, B 503',
      '0 a, 0 B, 0 c',
      '0 B retries_exhausted',
      { maxRetries: 0 },
    ],
    [
      'a part that fails while nothing was accepted since waits behind the gate of the parts, and the line goes on',
      'a, a 200, bc, d, d 200, bc 503, b 503, c 503, e, e 200, f, f 200, +500',
      '0 a, 0 bc, 0 d, 0 b, 0 c, 0 e, 0 b, 0 c, 0 f',
    ],
  ])('%s', check)
})

describe('a request fails, and nothing was accepted since it was sent', () => {
  test.each<Row>([
    [
      'it is held, and one other event is asked at once; that is accepted, so what is held is treated as bad',
      'a, a 200, bc, bc 503, c 200, +500, b 200',
      '0 a, 0 bc, 0 c, 500 b',
    ],
    [
      'the newest of those that have failed least is asked',
      'a, a 200, bc, d, bc 503, d 200',
      '0 a, 0 bc, 0 d, 0 c',
    ],
    [
      'the other fails too: everything goes back to its place, and one at a time is asked, after the backoff',
      'a, a 200, bc, bc 503, c 503, +500, b 503, +1000, c 200',
      '0 a, 0 bc, 0 c, 500 b, 1500 c, 1500 b',
    ],
    ['one event alone stays held for the backoff', 'a, a 200, b, b 503, +499, +1, b 200', '0 a, 0 b, 500 b'],
    [
      'a stated wait shuts the gate at once',
      'a, a 200, bc, bc 503 60, d, +59999, +1, d 200',
      '0 a, 0 bc, 60000 d, 60000 b, 60000 c',
    ],
    [
      'a request beside it that fails as well is the same failure',
      'a, a 200, b, c, b 503, c 503, +499, +1',
      '0 a, 0 b, 0 c, 500 b',
    ],
    [
      'a request sent before the gate shut is accepted, and opens it',
      'a, a 200, bc, de, f, bc 503, f 503, de 200',
      '0 a, 0 bc, 0 de, 0 f, 0 c',
    ],
    [
      'F03: a lost connection is tried again once, at once',
      'a, a 200, b, b reset, b reset, +500, b 200',
      '0 a, 0 b, 0 b, 500 b',
    ],
    [
      'a refused connection is a failure as any other',
      'a, a 200, bc, bc refused, c refused, +500',
      '0 a, 0 bc, 0 c, 500 b',
    ],
    [
      'after an outage, requests grow from one event again',
      'abcd, abcd 503, d 503, +500, c 503, +1000, b 200, acd 200',
      '0 abcd, 0 d, 500 c, 1500 b, 1500 acd',
    ],
  ])('%s', check)
})

describe('refused', () => {
  test.each<Row>([
    [
      'several are halved until the bad one stands alone',
      'aBcd, aBcd 400, aB 400, cd 200, a 200, B 422',
      '0 aBcd, 0 aB, 0 cd, 0 a, 0 B',
      '0 B rejected',
    ],
    [
      'the halves go before the line, and nothing waits',
      'abcd, e, abcd 400, ab 200, e 200',
      '0 abcd, 0 ab, 0 e, 0 cd',
      '',
      { maxConcurrentRequests: 1 },
    ],
    [
      'eight alone in a row, with nothing accepted: the service refuses everything',
      'A, A 400, B, B 400, C, C 400, D, D 400, E, E 400, F, F 400, G, G 400, H, H 400, I, +500, I 400, J, +1000',
      '0 A, 0 B, 0 C, 0 D, 0 E, 0 F, 0 G, 0 H, 500 I, 1500 J',
      '0 A rejected, 0 B rejected, 0 C rejected, 0 D rejected, 0 E rejected, 0 F rejected, 0 G rejected, 0 H rejected, 500 I rejected',
    ],
    [
      'something accepted in between starts the count anew',
      'A, A 400, B, B 400, C, C 400, D, D 400, E, E 400, F, F 400, G, G 400, x, x 200, H, H 400, I, I 400',
      '0 A, 0 B, 0 C, 0 D, 0 E, 0 F, 0 G, 0 x, 0 H, 0 I',
      '0 A rejected, 0 B rejected, 0 C rejected, 0 D rejected, 0 E rejected, 0 F rejected, 0 G rejected, 0 H rejected, 0 I rejected',
    ],
    ['another status of 4xx ends the events at once', 'Ab, Ab 402', '0 Ab', '0 A rejected'],
  ])('%s', check)
})

describe('too large', () => {
  test.each<Row>([
    ['several are halved', 'abcd, abcd 413, ab 200, cd 200', '0 abcd, 0 ab, 0 cd'],
    ['one alone ends', 'A, A 413', '0 A', '0 A too_large'],
    [
      'a part that is larger than is allowed since goes out in parts',
      'abcd, efgh, abcd 413, ab 413, efgh 413, a 200, e 200',
      '0 abcd, 0 efgh, 0 ab, 0 cd, 0 a, 0 e, 0 f',
    ],
  ])('%s', check)
})

describe('limited', () => {
  test.each<Row>([
    [
      'F46: the events go back where they came from, and one request goes first',
      'ab, c, ab 429, c 200, d, ab 200',
      '0 ab, 0 c, 0 ab, 0 d',
    ],
    ['everything waits as long as the response says', 'a, a 429 30, b, +29999, +1, ab 200', '0 a, 30000 ab'],
    [
      'a request that was sent before does not cut a stated wait short',
      'ab, c, ab 429 30, c 200, +29999, +1, ab 200',
      '0 ab, 0 c, 30000 ab',
    ],
    [
      'F47: without a stated wait, as long as the backoff, which grows',
      'a, a 429, +500, a 429, +1000, a 429, +2000',
      '0 a, 500 a, 1500 a, 3500 a',
    ],
    [
      'it is no failure: no event gets a strike',
      'a, a 429, +500, a 429, +1000, a 429, +2000, a 429, +4000, a 200',
      '0 a, 500 a, 1500 a, 3500 a, 7500 a',
    ],
  ])('%s', check)
})

describe('wrong settings', () => {
  test.each<Row>([
    [
      'before anything was accepted, the events of the request end, and what follows after the backoff',
      'AB, AB 401, C, +500, C 403, D, +1000, D 200',
      '0 AB, 500 C, 1500 D',
      '0 A auth, 0 B auth, 500 C auth, 1500 D delivered',
    ],
    [
      'an address that is wrong is rejected',
      'A, A 404, B, +500, B 302',
      '0 A, 500 B',
      '0 A rejected, 500 B rejected',
    ],
    [
      'after something was accepted, they are an outage with that code',
      'a, a 200, BC, BC 401, C 401, +500, B 401, +1000, C 401',
      '0 a, 0 BC, 0 C, 500 B, 1500 C',
      '1500 B auth, 1500 C auth',
    ],
  ])('%s', check)
})

describe('who waits', () => {
  test.each<Row>([
    [
      'is told after four failed requests in a row, sent since it was due',
      'A, A 503, +500, A 503, +1000, A 503, +2000, A 503',
      '0 A, 500 A, 1500 A, 3500 A',
      '3500 A retries_exhausted',
    ],
    [
      'is told after 10 s in which it was not in a request and nothing was accepted',
      'A, A 429 60, +9000, +1000, +1000',
      '0 A',
      '10000 A retries_exhausted',
    ],
    ['is not told after one failure alone', 'a, a 200, B, B 503 60, +30000', '0 a, 0 B'],
    [
      'what nobody awaits goes on waiting',
      'a, a 503, +500, a 503, +1000, a 503, +2000, a 503, +30000',
      '0 a, 500 a, 1500 a, 3500 a, 7500 a',
    ],
    [
      'with maxRetries, every event is, and the number alone counts',
      'a, a 503, +500, a 503, flush',
      '0 a, 500 a',
      '500 flush 0/0/0',
      { maxRetries: 1 },
    ],
    [
      'a flush ends after the same time, and ends nothing',
      'a, a 503, +500, flush, a 503, +1000, a 503, +2000, a 503, +4000, a 503, +8000',
      '0 a, 500 a, 1500 a, 3500 a, 7500 a, 15500 a',
      '3500 flush 0/0/1',
    ],
    [
      'a flush waits for what was accepted before it',
      'a, flush, b, b 200, a 200',
      '0 a, 0 b',
      '0 flush 1/0/0',
    ],
    ['a flush has a limit of its own', 'a, flush 300, +300', '0 a', '300 flush 0/0/1'],
    [
      'the deadline ends what nobody awaits',
      'a, a 503, +500, a 503, +1000, a 503, +2000, a 503, +9000',
      '0 a, 500 a, 1500 a, 3500 a',
      '',
      { maxTotalBackoffDuration: 5 },
    ],
  ])('%s', check)
})

describe('a close', () => {
  test.each<Row>([
    [
      'goes on trying until its timeout, through an outage',
      'A, A 503, close 25000, +500, A 503, +1000, A 503, +2000, A 503, +4000, A 503, +8000, A 200',
      '0 A, 500 A, 1500 A, 3500 A, 7500 A, 11500 A',
      '15500 A delivered, 15500 close 1/0/0',
    ],
    [
      'aborts what is open at its timeout',
      'Ab, close 1000, +999, +1',
      '0 Ab',
      '1000 A shutdown_timeout, 1000 close 0/2/0',
    ],
    [
      'ends before a stated wait that is longer, when nothing is in flight',
      'Ab, Ab 503 60, close 5000',
      '0 Ab',
      '0 A shutdown_timeout, 0 close 0/2/0',
    ],
    [
      'waits for a request in flight all the same',
      'A, B, A 429 60, close 5000, +1000, B 200',
      '0 A, 0 B',
      '1000 B delivered, 1000 A shutdown_timeout, 1000 close 1/1/0',
    ],
    [
      'lets a number of maxRetries count',
      'A, close 25000, A 503, +500, A 503',
      '0 A, 500 A',
      '500 A retries_exhausted, 500 close 0/1/0',
      { maxRetries: 1 },
    ],
    ['takes no more events', 'a, close, B, a 200', '0 a', '0 B closed, 0 close 1/0/0'],
  ])('%s', check)
})

describe('two clients of perRequest', () => {
  test.each<Row>([
    ['share the failures and the gate', 'a, a 503, x, +499, +1', '0 a, 500 a, 500 x'],
    ['what one finds up is up for the other', 'ab, x, ab 503, x 200', '0 ab, 0 x, 0 b'],
    ['share the wait of a rate limit', 'a, a 429 5, x, +4999, +1', '0 a, 5000 a, 5000 x'],
  ])('%s', checkPerRequest)
})
