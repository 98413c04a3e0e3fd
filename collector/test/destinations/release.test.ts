import { expect, test } from 'vitest'
import { readReleaseTarget } from '../../src/destinations/release.ts'

test.each([
  ['https://real@api.example.com/', { url: 'https://api.example.com', writeKey: 'real' }],
  ['http://k%40y@127.0.0.1:8080/eu/', { url: 'http://127.0.0.1:8080/eu', writeKey: 'k@y' }],
  // Not a valid percent-encoding.
  ['https://50%zz@api.example.com', { url: 'https://api.example.com', writeKey: '50%zz' }],
  ['https://api.example.com', undefined],
  ['https://real:secret@api.example.com', undefined],
  ['ftp://real@api.example.com', undefined],
  ['api.example.com', undefined],
])('the target of releases is read from %s', (text, target) => {
  expect(readReleaseTarget(text)).toEqual(target)
})
