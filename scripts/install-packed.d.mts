/** Packs the package as it was built, and installs it into an empty project below a folder. */
export declare function installPacked(below: string): {
  /** The project. */
  folder: string
  /** `files` are the paths of the files in it, sorted. */
  tarball: { path: string; files: string[] }
}
