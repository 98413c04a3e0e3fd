import type { Plugin } from 'esbuild'

export function licenses(path: string, within?: string): Plugin
export function readLicenses(path: string): Map<string, string>
