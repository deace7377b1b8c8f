const INSTALLERS_READ = /^(home|(npm|pip)_.*|.*_proxy|ssl_cert_.*|node_extra_ca_certs)$/i;

/** What npm and pip find in the environment of whoever starts the service. */
export const installers = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => INSTALLERS_READ.test(entry[0]) && entry[1] !== undefined,
    ),
  );
