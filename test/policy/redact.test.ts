import { describe, expect, test } from 'vitest'
import { redactor } from '../../src/policy/redact.ts'

describe('redacting', () => {
  test('every occurrence goes', () => {
    expect(redactor(['geheimnis'])('geheimnis und geheimnis')).toBe('[redacted] und [redacted]')
  })

  test('a secret is text, not a pattern', () => {
    expect(redactor(['.*.*.*.*.*'])('alles bleibt')).toBe('alles bleibt')
  })

  test('a key too short to be one does not blacken ordinary words', () => {
    expect(redactor(['x'])('exact')).toBe('exact')
  })
})
