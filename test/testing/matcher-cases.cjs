// Property values with expected values, and whether `toMatchObject` of Jest and Vitest says that they match. STRICTER: it says
// so, but without a runner they do not match.
const STRICTER = 'stricter'

class Money {
  constructor(cents) {
    this.cents = cents
  }
}

/** @returns {[label: string, value: unknown, expected: unknown, matches: boolean | 'stricter'][]} */
module.exports = (expect) => [
  ['a number', 42.5, 42.5, true],
  ['another number', 42.5, 42, false],
  ['a number as text', 42.5, '42.5', false],
  ['zero', 0, 0, true],
  ['minus zero', 0, -0, false],
  ['NaN instead of null', null, Number.NaN, false],
  ['infinity instead of null', null, Number.POSITIVE_INFINITY, false],
  ['a bigint instead of text', '12', 12n, false],
  ['text', 'pro', 'pro', true],
  ['text in another case', 'pro', 'Pro', false],
  ['empty text', '', '', true],
  ['text instead of empty text', '', 'a', false],
  ['true', true, true, true],
  ['false instead of true', true, false, false],
  ['1 instead of true', true, 1, false],
  ['null', null, null, true],
  ['undefined instead of null', null, undefined, false],
  ['null instead of a number', 5, null, false],
  ['undefined instead of a number', 42.5, undefined, false],
  ['undefined instead of an object', { a: 1 }, undefined, false],
  ['a function instead of a number', 5, Number, false],
  ['a symbol', 5, Symbol.iterator, false],
  ['a Date instead of its text', '1970-01-01T00:00:00.000Z', new Date(0), false],
  ['a pattern instead of text', 'pro', /pro/, STRICTER],
  ['an Error instead of an object', { message: 'no' }, new Error('no'), false],

  ['an equal object', { a: 1, b: 2 }, { a: 1, b: 2 }, true],
  ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ['a part of an object', { a: 1, b: 2 }, { a: 1 }, true],
  ['an empty object instead of an object', { a: 1 }, {}, true],
  ['an empty object', {}, {}, true],
  ['a key that is missing', { a: 1 }, { a: 1, b: 2 }, false],
  ['a missing key that is undefined', { a: 1 }, { a: 1, b: undefined }, false],
  ['a key that is undefined instead of a value', { a: 1 }, { a: undefined }, false],
  ['another value of a key', { a: 1 }, { a: 2 }, false],
  ['a nested part', { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 1 } } }, true],
  ['another nested value', { a: { b: { c: 1 } } }, { a: { b: { c: 2 } } }, false],
  ['a nested key that is undefined', { a: { b: 1 } }, { a: { b: 1, c: undefined } }, false],
  ['a nested null', { a: { b: null } }, { a: { b: null } }, true],
  ['an object instead of null', null, {}, STRICTER],
  ['an object instead of text', 'pro', { length: 3 }, false],
  ['null instead of an object', {}, null, false],
  ['a name of Object.prototype', {}, { toString: Object.prototype.toString }, false],
  ['an object without a prototype', { a: 1 }, Object.assign(Object.create(null), { a: 1 }), true],
  ['an instance of a class', { cents: 5, extra: 1 }, new Money(5), true],
  ['another instance of a class', { cents: 5 }, new Money(6), false],

  ['an equal list', [1, 2], [1, 2], true],
  ['a list in another order', [1, 2], [2, 1], false],
  ['a shorter list', [1, 2], [1], false],
  ['a longer list', [1], [1, 2], false],
  ['an empty list', [], [], true],
  ['an empty list instead of a list', [1], [], false],
  ['an object instead of a list', [1], { 0: 1 }, STRICTER],
  ['a list instead of an object', { 0: 1 }, [1], false],
  ['a Set instead of a list', [1], new Set([1]), false],
  ['parts of the objects in a list', [{ sku: 'tea', price: 1 }], [{ sku: 'tea' }], true],
  ['another object in a list', [{ sku: 'tea' }], [{ sku: 'jam' }], false],
  ['undefined in a list instead of null', [null], [undefined], false],
  ['a list in a list', [[1], [2]], [[1], [2]], true],

  ['any of a type', 42.5, expect.any(Number), true],
  ['any of another type', 42.5, expect.any(String), false],
  ['anything', 0, expect.anything(), true],
  ['anything instead of null', null, expect.anything(), false],
  ['a part of a text', 'Order Completed', expect.stringContaining('Order'), true],
  ['a text with a pattern', 'pro', expect.stringMatching(/^x/), false],
  ['a negated matcher', { a: 1 }, expect.not.objectContaining({ a: 2 }), true],
  ['a nested matcher', { a: [1, 2] }, { a: expect.arrayContaining([2]) }, true],
  ['a matcher in a list', [1, 'a'], [1, expect.any(Number)], false],
  ['close to a number', { a: 0.1 + 0.2 }, { a: expect.closeTo(0.3) }, true],
]
