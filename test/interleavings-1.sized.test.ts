import { testInterleavings } from './support/interleavings.ts'

testInterleavings(0)
testInterleavings(1)
