import { Command, InvalidArgumentError, Option } from 'commander'
import type { Kind } from 'trackpost'
import type { CommandContext } from './commands/context.ts'
import { type ImportFlags, runImport } from './commands/import.ts'
import { runSend, type SendFlags } from './commands/send.ts'
import { runTypes, type TypesFlags } from './commands/types.ts'
import { runVerify, type VerifyFlags } from './commands/verify.ts'
import { FORMATS } from './import/sniff.ts'
import { isDateForm } from './import/time.ts'
import { version } from './version.ts'

type OnExit = (exitCode: number) => void

const SETTINGS_HELP = `
Settings come from flags, then the environment:
  TRACKPOST_WRITE_KEY, TRACKPOST_WRITE_KEY_FILE, TRACKPOST_HOST, TRACKPOST_REGION
`
const EXIT_HELP = `
Exit codes: 0 all delivered, 1 some failed, 2 wrong usage (nothing was sent or written), 130 ended by Ctrl+C.
`

/** @param onExit Called with the exit code of the command that ran. */
export function createProgram(context: CommandContext, onExit: OnExit): Command {
  const program = new Command('trackpost')
    .description('Send tracking events, import files of them, check address and key, and write types.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text.replace(/^error: /, 'trackpost: ')),
    })
    .addHelpText('after', EXIT_HELP)
  addSend(program, context, onExit)
  addVerify(program, context, onExit)
  addImport(program, context, onExit)
  addTypes(program, context, onExit)
  return program
}

function addConnection(command: Command): Command {
  return command
    .option('--write-key-file <path>', 'file that holds the write key of the source')
    .option('--host <url>', 'base URL of the service')
    .addOption(new Option('--region <name>', 'region of the workspace').choices(['default', 'eu']))
    .option(
      '--write-key <key>',
      'the write key; every list of processes shows it, so prefer a file or the environment',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', SETTINGS_HELP)
}

function addSend(program: Command, context: CommandContext, onExit: OnExit): void {
  const send = program.command('send').description('send one event and wait for its outcome')
  const add = (kind: Kind, description: string): Command => {
    const command = send.command(kind).description(description)
    command.option('--user-id <id>', 'your id for the user')
    if (kind !== 'alias') command.option('--anonymous-id <id>', 'id of a visitor whose identity is not known')
    command.action(async (flags: SendFlags) => onExit(await runSend(kind, flags, context)))
    return command
  }
  const withObject = (command: Command, one: string, all: string): Command =>
    command
      .option(`--${one} <name=value>`, `a ${one}: name=text or name:=JSON; can be repeated`, collect)
      .option(`--${all} <json>`, `all ${all}: JSON, or @ and the path of a file`)
  const withProperties = (command: Command): Command => withObject(command, 'property', 'properties')
  const withTraits = (command: Command): Command => withObject(command, 'trait', 'traits')
  const named = (command: Command): Command =>
    withProperties(
      command
        .option('--name <text>', 'name of the page or screen')
        .option('--category <text>', 'category of the page or screen'),
    )
  const commands = [
    withProperties(add('track', 'record an action').option('--event <name>', 'name of the action')),
    withTraits(add('identify', 'record who a user is')),
    named(add('page', 'record a page view')),
    named(add('screen', 'record a view of a mobile screen')),
    withTraits(add('group', 'put a user into a group').option('--group-id <id>', 'your id for the group')),
    add('alias', 'join two ids of one user').option('--previous-id <id>', 'the id that the user had before'),
  ]
  for (const command of commands) {
    command
      .option(
        '--context <name=value>',
        'context of the event, such as --context ip=1.2.3.4; can be repeated',
        collect,
      )
      .option(
        '--integration <name=value>',
        'turn a destination on or off, such as --integration All:=false',
        collect,
      )
      .option('--timestamp <time>', 'when it happened, ISO-8601; default: now')
      .option('--message-id <id>', 'key for deduplication; default: random')
      .option('--max-retries <number>', 'retries before the event counts as failed', wholeNumber(0, 1_000), 3)
    addConnection(command)
  }
}

function addVerify(program: Command, context: CommandContext, onExit: OnExit): void {
  const command = program
    .command('verify')
    .description('check that the service can be reached and accepts the write key; sends no event')
    .action(async (flags: VerifyFlags) => onExit(await runVerify(flags, context)))
  addConnection(command)
}

function addImport(program: Command, context: CommandContext, onExit: OnExit): void {
  const command = program
    .command('import')
    .description('send the events of a file: NDJSON, a JSON array or CSV, plain or gzip')
    .argument('<file>', 'the file, or - for stdin')
    .option('--dry-run', 'check every line and send nothing')
    .option(
      '--map <field=column,...>',
      'column of each field: userId=customer_id,properties.total:number=amount',
      collect,
    )
    .option('--type <kind>', 'kind of the events whose line has no type')
    .option(
      '--set <field=value>',
      'a value for every event: field=text or field:=JSON; can be repeated',
      collect,
    )
    .option('--rest', 'send all other columns as properties, or as traits')
    .addOption(new Option('--format <name>', 'format of the file; default: detected').choices(FORMATS))
    .option('--delimiter <character>', 'delimiter of a CSV file; default: detected', delimiter)
    .option('--columns <names>', 'columns of a CSV file without a header, separated by commas', (text) =>
      text.split(',').map((name) => name.trim()),
    )
    .option('--skip-lines <number>', 'lines above the header of a CSV file', wholeNumber(0, 1_000_000))
    .option('--encoding <name>', 'encoding of the file, such as windows-1252; default: UTF-8', encoding)
    .addOption(new Option('--decimal <character>', 'decimal separator of numbers').choices(['.', ',']))
    .option('--date <form>', 'form of dates, such as dd.mm.yyyy; ISO 8601 is always read', dateForm)
    .option('--null <text>', 'text that means no value, in any column; can be repeated', collect)
    .option('--any-time', 'accept timestamps before 2000 or more than a year ahead')
    .addOption(
      new Option('--large-numbers <what>', 'what becomes of integers beyond 2^53; default: text').choices([
        'text',
        'refuse',
      ]),
    )
    .option('--rate <number>', 'maximum number of lines per second', wholeNumber(1, 1_000_000))
    .option('--resume', 'continue where an interrupted import stopped')
    .option('--restart', 'start over, even if an interrupted import could continue')
    .option('--state <path>', 'state file; default: <file>.trackpost-state.json')
    .option('--source <name>', 'name from which messageIds are derived; default: the name of the file')
    .option(
      '--max-retries <number>',
      'retries of a request before the import stops',
      wholeNumber(0, 1_000),
      10,
    )
    .action(async (file: string, flags: ImportFlags) => onExit(await runImport(file, flags, context)))
  addConnection(command)
}

function addTypes(program: Command, context: CommandContext, onExit: OnExit): void {
  program
    .command('types')
    .description('write the TypeScript types of a tracking plan')
    .argument('<plan>', 'a file, - for stdin, a URL, or the address of a collector')
    .option('--out <path>', 'file for the types; default: stdout')
    .option('--check', 'write nothing; exit with code 1 if the file of --out does not match the plan')
    .action(async (file: string, flags: TypesFlags) => onExit(await runTypes(file, flags, context)))
}

function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}

function encoding(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    throw new InvalidArgumentError('expected an encoding, such as utf-8, utf-16le or windows-1252')
  }
}

function dateForm(form: string): string {
  if (isDateForm(form.toLowerCase())) return form.toLowerCase()
  throw new InvalidArgumentError('expected day, month and year in their order, such as dd.mm.yyyy')
}

function delimiter(text: string): string {
  const character = text === '\\t' ? '\t' : text
  if (/^[^"\r\n\u0080-\u{10ffff}]$/u.test(character)) return character
  throw new InvalidArgumentError('expected one ASCII character, or \\t')
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
  }
}
