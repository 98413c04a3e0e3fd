import { describeCatalogue } from '../../../collector/test/api/catalogue.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

describeWithPostgres('the catalogue on PostgreSQL', () => describeCatalogue(newDatabase))
