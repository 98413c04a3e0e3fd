import { expect, test } from 'vitest'
import { readRelease } from '../../src/destinations/release.ts'

test.each([
  ['https://real@api.example.com/', { url: 'https://api.example.com', writeKey: 'real' }],
  ['http://k%40y@127.0.0.1:8080/eu/', { url: 'http://127.0.0.1:8080/eu', writeKey: 'k@y' }],
  // Not a valid percent-encoding.
  ['https://50%zz@api.example.com', { url: 'https://api.example.com', writeKey: '50%zz' }],
])('the target of releases is read from %s', (text, target) => {
  expect(readRelease(text)).toEqual(target)
})

test.each([
  'https://api.example.com',
  'https://real:secret@api.example.com',
  'ftp://real@api.example.com',
  'api.example.com',
])('%s is no target of releases', (text) => {
  expect(() => readRelease(text)).toThrow('releaseTo: expected https://<write key>@<host>')
})
