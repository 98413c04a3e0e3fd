import type { Plugin } from 'esbuild'

export function licenses(path: string, further?: Record<string, string>): Plugin
