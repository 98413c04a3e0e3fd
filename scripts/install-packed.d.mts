/** Packs the built package, and installs it into an empty project below a folder. */
export declare function installPacked(below: string): {
  /** The path of the project. */
  folder: string
  /** `files` are the paths of the files in it, sorted. */
  tarball: { path: string; files: string[] }
}
