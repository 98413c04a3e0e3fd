import { basename, join } from 'node:path'
import { type Project, REPOSITORY, runTool } from './project.ts'

/**
 * Compiles each snippet in a file of its own, with what its user would have: the package as it is installed.
 *
 * @param name Of the files.
 * @param header What each file begins with.
 * @param types Those of `@types` that there are.
 * @returns What the compiler says of each snippet, by its name; an empty text when it takes it.
 */
export async function compileSnippets(
  project: Project,
  name: string,
  header: string,
  snippets: Readonly<Record<string, string>>,
  types: readonly string[] = [],
): Promise<Record<string, string>> {
  const entries = Object.entries(snippets)
  const files = await Promise.all(
    entries.map(([, snippet], index) => project.write(`${name}-${index}.mts`, header + snippet)),
  )
  const compilerOptions = {
    target: 'ES2022',
    module: 'node16',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types,
    typeRoots: [join(REPOSITORY, 'node_modules/@types')],
  }
  const path = await project.write(`${name}.json`, JSON.stringify({ compilerOptions, files }))

  const { output } = await runTool('tsc', ['--project', path, '--pretty', 'false'], project.folder)

  // Lines that go on are indented.
  const complaints = output.split(/\n(?! )/)
  return Object.fromEntries(
    entries.map(([name], index) => {
      const start = `${basename(files[index] as string)}(`
      return [name, complaints.filter((line) => line.startsWith(start)).join('\n')]
    }),
  )
}
