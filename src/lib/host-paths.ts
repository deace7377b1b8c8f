/** What a program said, for people who may not know where things lie on this machine: absolute paths become `…`. */
export const withoutHostPaths = (text: string): string =>
  text.replaceAll(/(?<=^|[\s'"`(=:,])(?:file:\/\/)?\/(?!\/)[^\s'"`(),;]+/g, '…');
