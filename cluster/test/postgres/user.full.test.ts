import { describeUser } from '../../../collector/test/api/user.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

describeWithPostgres('a user on PostgreSQL', () => describeUser(newDatabase))
