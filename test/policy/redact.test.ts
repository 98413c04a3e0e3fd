import { describe, expect, test } from 'vitest'
import { redactor } from '../../src/policy/redact.ts'

describe('redacting', () => {
  test('every occurrence goes', () => {
    expect(redactor(['geheimnis'])('geheimnis und geheimnis')).toBe('[redacted] und [redacted]')
  })

  test('a secret is text, not a pattern', () => {
    expect(redactor(['.*.*.*.*.*'])('alles bleibt')).toBe('alles bleibt')
  })

  test.each<[string, string, string]>([
    [
      'x',
      'the key x is not valid: "x", x=x',
      'the key [redacted] is not valid: "[redacted]", [redacted]=[redacted]',
    ],
    ['x', 'exact, x1, _x and the Xerox', 'exact, x1, _x and the Xerox'],
    ['.', 'a . b.c', 'a [redacted] b.c'],
    ['wk_7', 'invalid write key wk_7.', 'invalid write key [redacted].'],
    ['eDo=', 'Basic eDo=', 'Basic [redacted]'],
  ])('a short secret goes where it stands alone, and blackens no words: %s', (secret, text, clean) => {
    expect(redactor([secret])(text)).toBe(clean)
  })

  test('a long secret goes wherever it is', () => {
    expect(redactor(['geheimnis'])('ungeheimnisse')).toBe('un[redacted]se')
  })

  test('a secret goes as JSON and addresses write it', () => {
    const redact = redactor(['wk"7\\Zurich&'])

    expect(redact(JSON.stringify({ key: 'wk"7\\Zurich&' }))).toBe('{"key":"[redacted]"}')
    expect(redact(`https://h/?key=${encodeURIComponent('wk"7\\Zurich&')}`)).toBe('https://h/?key=[redacted]')
  })

  test('a secret of several lines goes where they have become one', () => {
    const redact = redactor(['-----BEGIN KEY-----\nMIIEvQ\r\nIBADAN\n-----END KEY-----\n'])

    expect(redact('with -----BEGIN KEY----- MIIEvQ IBADAN -----END KEY-----, non')).toBe(
      'with [redacted], non',
    )
  })

  test('a text that ends in the middle of a secret keeps nothing of it', () => {
    const redact = redactor(['wk_Zurich_7Qm4'])

    expect(redact('invalid: wk_Zurich_7Q')).toBe('invalid: [redacted]')
    expect(redact('invalid: wk_Zurich_7Q and more')).toBe('invalid: wk_Zurich_7Q and more')
  })

  test('of two secrets of which one is a part of the other both go', () => {
    expect(redactor(['abcdefgh', 'abcdefghij'])('abcdefghij abcdefgh')).toBe('[redacted] [redacted]')
  })

  test('no secrets, and an empty one, change nothing', () => {
    expect(redactor([])('alles bleibt')).toBe('alles bleibt')
    expect(redactor([''])('alles bleibt')).toBe('alles bleibt')
  })
})
