/** Packs the built package, and installs it into an empty project in the folder `below`. */
export declare function installPacked(below: string): {
  folder: string
  /** `files` are the paths in the tarball, sorted. */
  tarball: { path: string; files: string[] }
}
