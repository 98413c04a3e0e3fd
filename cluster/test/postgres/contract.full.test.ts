import { describeContract } from '../../../collector/test/api/contract.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

describeWithPostgres('with the store on PostgreSQL', () => describeContract(newDatabase))
