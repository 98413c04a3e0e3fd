import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'

const STORE_NAME = 'trackpost-collector.db'

/** The file for events if no flag names one, in the folder where the system keeps the data of a user's programs. */
export function defaultStore(
  { LOCALAPPDATA, XDG_DATA_HOME = '' }: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  if (platform === 'win32')
    return win32.join(LOCALAPPDATA || win32.join(home, 'AppData', 'Local'), 'trackpost', STORE_NAME)
  const usual = posix.join(home, platform === 'darwin' ? 'Library/Application Support' : '.local/share')
  // The specification of XDG says that a relative path does not count.
  const folder = platform !== 'darwin' && posix.isAbsolute(XDG_DATA_HOME) ? XDG_DATA_HOME : usual
  return posix.join(folder, 'trackpost', STORE_NAME)
}
