import type { Command, Option } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Node {
  /** The names of the command and of its parents: `send track`. Empty for the program itself. */
  readonly path: string
  readonly commands: readonly (readonly [name: string, description: string])[]
  readonly options: readonly Option[]
  /** Allowed values of the argument; empty if any value is allowed. */
  readonly choices: readonly string[]
  readonly takesFile: boolean
}

const FILE_VALUE = /path/

/** The script contains all commands, so completing a word starts no process. */
export function createCompletion(program: Command, shell: Shell): string {
  const nodes = collectNodes(program, '')
  if (shell === 'bash') return bash(nodes)
  return shell === 'zsh' ? zsh(nodes) : fish(nodes)
}

function collectNodes(command: Command, path: string): Node[] {
  const [argument] = command.registeredArguments
  const node: Node = {
    path,
    commands: command.commands.map((one) => [one.name(), one.description()] as const),
    options: command.options.filter(({ hidden }) => !hidden),
    choices: argument?.argChoices ?? [],
    takesFile: argument?.name() === 'file',
  }
  return [node, ...command.commands.flatMap((one) => collectNodes(one, `${path} ${one.name()}`.trim()))]
}

function takesFile({ flags }: Option): boolean {
  return FILE_VALUE.test(flags)
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag): flag is string => flag !== undefined && flag !== null)
}

function bash(nodes: readonly Node[]): string {
  const values = nodes.flatMap(({ path, options }) =>
    options.filter(takesValue).map((option) => {
      const cases = flagsOf(option).map((flag) => `"${path}:${flag}"`)
      const reply = takesFile(option)
        ? 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$word"))'
        : `COMPREPLY=($(compgen -W "${(option.argChoices ?? []).join(' ')}" -- "$word"))`
      return `    ${cases.join('|')}) ${reply}; return ;;`
    }),
  )
  const words = nodes.map(({ path, commands, options, choices, takesFile }) => {
    const all = [...commands.map(([name]) => name), ...choices, ...options.flatMap(flagsOf), '--help']
    const files = takesFile
      ? '; [[ $word == -* ]] || { compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); }'
      : ''
    return `    "${path}") COMPREPLY=($(compgen -W "${all.join(' ')}" -- "$word"))${files} ;;`
  })
  return `# bash completion of trackpost
_trackpost() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${path:+$path }\${COMP_WORDS[index]}" in
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      "${path}") path="${path}" ;;`)
  .join('\n')}
    esac
  done
  case "$path:$previous" in
${values.join('\n')}
  esac
  case "$path" in
${words.join('\n')}
  esac
}
complete -F _trackpost trackpost
`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function zsh(nodes: readonly Node[]): string {
  const describe = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&')
  const cases = nodes.map(({ path, commands, options, choices, takesFile: isFile }) => {
    const specs = options.flatMap((option) =>
      flagsOf(option).map((flag) => {
        const isRepeated = option.parseArg?.name === 'collect' ? '*' : ''
        const choice = option.argChoices === undefined ? ' ' : `(${option.argChoices.join(' ')})`
        const value = takesValue(option) ? `:value:${takesFile(option) ? '_files' : choice}` : ''
        return quote(`${isRepeated}${flag}[${describe(option.description)}]${value}`)
      }),
    )
    if (commands.length > 0) {
      const list = commands.map(([name, description]) => quote(`${describe(name)}:${describe(description)}`))
      return `    ${quote(path)}) local -a commands=(${list.join(' ')}); _describe command commands ;;`
    }
    if (choices.length > 0) specs.push(quote(`1:value:(${choices.join(' ')})`))
    if (isFile) specs.push(quote('1:file:_files'))
    return `    ${quote(path)}) _arguments -s ${specs.join(' ')} ;;`
  })
  return `#compdef trackpost
_trackpost() {
  local place='' index
  for ((index = 2; index < CURRENT; index++)); do
    case "\${place:+$place }$words[index]" in
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quote(path)}) place=${quote(path)}; shift words; ((CURRENT--, index--)) ;;`)
  .join('\n')}
    esac
  done
  case "$place" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _trackpost ]; then _trackpost "$@"; else compdef _trackpost trackpost; fi
`
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options, choices, takesFile: isFile }) => {
    const condition = `-n ${quote(`__trackpost_at ${quote(path)}`.replaceAll("'", '"'))}`
    const start = `complete -c trackpost ${condition}`
    return [
      ...(isFile ? [] : [`${start} -f`]),
      ...commands.map(([name, description]) => `${start} -a ${name} -d ${quote(description)}`),
      ...choices.map((choice) => `${start} -a ${choice}`),
      ...options.map((option) => {
        const { short, long = '', argChoices } = option
        const names = `${short ? `-s ${short.slice(1)} ` : ''}-l ${long.slice(2)}`
        const value = !takesValue(option)
          ? ''
          : takesFile(option)
            ? ' -r -F'
            : ` -x${argChoices === undefined ? '' : ` -a ${quote(argChoices.join(' '))}`}`
        return `${start} ${names}${value} -d ${quote(option.description)}`
      }),
    ]
  })
  const paths = nodes.map(({ path }) => path).filter((path) => path !== '')
  return `# fish completion of trackpost
function __trackpost_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch (string trim -- "$at $word")
      case ${paths.map(quote).join(' ')}
        set at (string trim -- "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}
