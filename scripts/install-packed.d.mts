export interface Tarball {
  readonly path: string
  /** The paths of the files in the tarball, sorted. */
  readonly files: string[]
}

/** Packs a built package into the folder `below`. @param workspace Its folder in the repository. */
export declare function pack(workspace: string, below: string): Tarball

/** Makes `folder` the project of a user, in which only these packages are installed. */
export declare function install(folder: string, ...tarballs: Tarball[]): void

/** Packs the SDK, and installs it into a project, in the folder `below`. */
export declare function installPacked(below: string): { folder: string; tarball: Tarball }
