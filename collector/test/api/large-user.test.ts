import { describe } from 'vitest'
import { describeUser } from './user.ts'

describe('a user', () => describeUser(() => ':memory:'))
