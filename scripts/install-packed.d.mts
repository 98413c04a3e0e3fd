/** Packs the built package, and installs it into an empty project in the folder `below`. */
export declare function installPacked(below: string): {
  /** The path of the project. */
  folder: string
  /** The packed package. `files` are the paths of the files in the tarball, sorted. */
  tarball: { path: string; files: string[] }
}
