import { testInterleavings } from './support/interleavings.ts'

testInterleavings(2)
testInterleavings(3)
