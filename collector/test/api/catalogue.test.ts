import { describe } from 'vitest'
import { describeCatalogue } from './catalogue.ts'

describe('the catalogue on SQLite', () => describeCatalogue(async () => ':memory:'))
