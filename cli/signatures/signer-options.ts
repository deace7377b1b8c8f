import type { Command } from 'commander';

/** As public conformance suites of Sigstore name them. */
export const withSignerOptions = (command: Command): Command =>
  command
    .option('--key <file>', 'the public key of who must have signed it')
    .option('--certificate-identity <identity>', 'or the identity in the certificate, exactly')
    .option('--certificate-oidc-issuer <url>', 'and who vouches for that identity')
    .option('--trusted-root <file>', 'the authorities and logs that are believed; KGRID_TRUSTED_ROOT when left out');
