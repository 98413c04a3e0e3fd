import { describe } from 'vitest'
import { newDatabaseFile } from '../support/process.ts'
import { describeContract } from './contract.ts'

describe('with the store in memory', () => describeContract(() => ':memory:'))
describe('with the store in a file', () => describeContract(() => newDatabaseFile()))
