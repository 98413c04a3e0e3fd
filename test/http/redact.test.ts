import { describe, expect, test } from 'vitest'
import { redactor } from '../../src/http/redact.ts'

describe('redacting', () => {
  test('removes every occurrence', () => {
    expect(redactor(['geheimnis'])('geheimnis und geheimnis')).toBe('[redacted] und [redacted]')
  })

  test('takes a secret as text, not as a pattern', () => {
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
  ])('removes a short secret where it stands alone, but not inside words: %s', (secret, text, clean) => {
    expect(redactor([secret])(text)).toBe(clean)
  })

  test('removes a long secret everywhere', () => {
    expect(redactor(['geheimnis'])('ungeheimnisse')).toBe('un[redacted]se')
  })

  test('removes a secret in the forms that JSON and URLs give it', () => {
    const redact = redactor(['wk"7\\Zurich&'])

    expect(redact(JSON.stringify({ key: 'wk"7\\Zurich&' }))).toBe('{"key":"[redacted]"}')
    expect(redact(`https://h/?key=${encodeURIComponent('wk"7\\Zurich&')}`)).toBe('https://h/?key=[redacted]')
  })

  test('removes a secret of several lines, even if they were joined into one line', () => {
    const redact = redactor(['-----BEGIN KEY-----\nMIIEvQ\r\nIBADAN\n-----END KEY-----\n'])

    expect(redact('with -----BEGIN KEY----- MIIEvQ IBADAN -----END KEY-----, non')).toBe(
      'with [redacted], non',
    )
  })

  test('removes the beginning of a secret at the end of a text that was cut off', () => {
    const redact = redactor(['wk_Zurich_7Qm4'])

    expect(redact('invalid: wk_Zurich_7Q')).toBe('invalid: [redacted]')
    expect(redact('invalid: wk_Zurich_7Q and more')).toBe('invalid: wk_Zurich_7Q and more')
  })

  test('removes two secrets of which one contains the other', () => {
    expect(redactor(['abcdefgh', 'abcdefghij'])('abcdefghij abcdefgh')).toBe('[redacted] [redacted]')
  })

  test('changes nothing without secrets, or with an empty one', () => {
    expect(redactor([])('alles bleibt')).toBe('alles bleibt')
    expect(redactor([''])('alles bleibt')).toBe('alles bleibt')
  })
})
