import { Brand } from '../components/basics.tsx'
import { LogBlock } from './log-state.tsx'

/** In place of the screens of a process that keeps no events itself: where they are, and how the log is. */
export function NoStoreScreen({ message }: { message: string }) {
  return (
    <main class="door">
      <Brand />
      <h2>No events are kept here</h2>
      <p>{message}</p>
      <LogBlock />
    </main>
  )
}
