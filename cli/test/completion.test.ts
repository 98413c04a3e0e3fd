import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFile, newFolder, run } from './support.ts'

const hasShell = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

async function script(shell: string): Promise<string> {
  const { code, stdout } = await run(['completion', shell])
  expect(code).toBe(0)
  return stdout
}

/** Command lines, each with the completions that the shells must offer at its end. */
const CASES = [
  ['trackpost ', ['send', 'verify', 'doctor', 'import', 'types', 'tail', 'completion']],
  ['trackpost send ', ['track', 'identify', 'page', 'screen', 'group', 'alias']],
  ['trackpost send track --us', ['--user-id']],
  ['trackpost send alias --ev', []],
  ['trackpost import --dry', ['--dry-run']],
  ['trackpost types --ch', ['--check']],
  ['trackpost import --format ', ['ndjson', 'json', 'csv']],
  ['trackpost completion f', ['fish']],
] as const

test('bash completes commands, options and values', async () => {
  const path = newFile('completion.bash', await script('bash'))
  for (const [line, expected] of CASES) {
    const program = `source "$1"; COMP_WORDS=($2); [[ $2 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((\${#COMP_WORDS[@]}-1))
      _trackpost 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', program, 'bash', path, line], { encoding: 'utf8' })
    const offered = stdout
      .split('\n')
      .filter((word) => word !== '' && (line.includes('-') || !word.startsWith('-')))

    expect(offered.sort(), line).toEqual(
      [...expected, ...(line === 'trackpost ' ? ['help'] : [])].sort().filter((word) => word !== 'help'),
    )
  }
})

test.skipIf(!hasShell('fish'))('fish completes commands, options and values', async () => {
  const path = newFile('completion.fish', await script('fish'))
  for (const [line, expected] of CASES) {
    const { stdout } = spawnSync('fish', ['--no-config', '-c', `source ${path}; complete -C '${line}'`], {
      encoding: 'utf8',
      cwd: newFolder(),
    })
    const offered = stdout
      .split('\n')
      .map((one) => one.split('\t')[0])
      .filter((word) => word !== '')

    expect(offered.sort(), line).toEqual([...expected].sort())
  }
})

test.skipIf(!hasShell('zsh'))('zsh completes commands, options and values', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'functions'))
  writeFileSync(join(folder, 'functions/_trackpost'), await script('zsh'))
  for (const [line, expected] of CASES) {
    // zsh completes only when it is interactive, so the test starts it in a pseudo-terminal and reads the list of matches.
    const setup = `PS1='>>''> '; fpath=(${folder}/functions $fpath); autoload -Uz compinit; compinit -u -d ${folder}/dump; print READY`
    const program = String.raw`zmodload zsh/zpty
      zpty z zsh -f
      zpty -w z "$1"
      zpty -r z out '*>>> *'
      # zsh handles its input in order, so it prints the matches before DONE.
      zpty -w -n z "$2"$'\t\t\025print DO\\NE\n'
      zpty -r z out '*DONE*'; print -r -- $out`
    const { stdout } = spawnSync('zsh', ['-f', '-c', program, 'zsh', setup, line], {
      encoding: 'utf8',
      timeout: 30_000,
      cwd: folder,
    })
    for (const word of expected) expect(stdout, line).toContain(word)
    if (line === 'trackpost send alias --ev') expect(stdout).not.toContain('--event')
  }
})
