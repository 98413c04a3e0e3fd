import { Brand } from '../components/basics.tsx'
import { LogBlock } from './log-state.tsx'

/** Shown instead of the screens by a process without a store. */
export function NoStoreScreen({ message }: { message: string }) {
  return (
    <main class="door">
      <Brand />
      <h2>This process stores no events</h2>
      <p>{message}</p>
      <LogBlock />
    </main>
  )
}
