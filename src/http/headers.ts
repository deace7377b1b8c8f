/** Headers of this service's own answers. */

/** The code of an error in the catalogue. */
export const ERROR_HEADER = 'KGrid-Error';
/** Names a call, in its answer and in the log. */
export const EXECUTION_ID_HEADER = 'kgrid-execution-id';
/** The content that an answer comes from. */
export const PACKAGE_DIGEST_HEADER = 'kgrid-package-digest';
/** Who signed it, of those whom the trust policy names: names with commas between them, percent-encoded. */
export const PACKAGE_SIGNER_HEADER = 'kgrid-package-signer';
