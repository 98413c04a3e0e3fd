// Installs chdb (ClickHouse as a library) into .cache, for the tests of the ClickHouse destination. Usage:
//   node cluster/scripts/chdb.mjs
// chdb is half a gigabyte in size, so it is not a dependency.
import { fileURLToPath } from 'node:url'
import { fetchRuntime, findRuntime } from '../../scripts/fetch-runtimes.mjs'

const NAME = 'chdb'
const PIN = {
  package: 'chdb',
  version: '3.4.0',
  binary: 'index.js',
  integrity:
    'sha512-HMNj4dq3lIrwqxwGSuuEjo9EIlC+k8IjsSQHh1ZStGvV6MRckfvPM2aDqzdW1ti3fldrt9UIntJBm0AbV9nbDQ==',
  dependencies: {
    '@chdb/lib-linux-x64-gnu': {
      version: '26.7.3-stable.1',
      integrity:
        'sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==',
    },
  },
}
const isPinned = process.platform === 'linux' && process.arch === 'x64'

export function findChdb() {
  return isPinned ? findRuntime(NAME, PIN) : undefined
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    if (!isPinned) throw new Error(`there is none for ${process.platform} ${process.arch}`)
    console.log(fetchRuntime(NAME, PIN))
  } catch (cause) {
    console.error(`No chdb was found: the tests on ClickHouse will be SKIPPED. ${cause.message}`)
  }
}
