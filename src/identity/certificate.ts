/** Client certificates: TLS verifies them, and the common name of their subject is who asks. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

const known = new WeakMap<Socket, string | false>();

/** Undefined where none came, or none that a trusted authority gave. */
export function certificateOf(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  let name = known.get(socket);
  if (name === undefined) {
    const { subject } = socket.getPeerCertificate() as { readonly subject?: { readonly CN?: string | string[] } };
    const { CN } = subject ?? {};
    // Several names are none.
    name = typeof CN === 'string' && CN !== '' ? CN : false;
    known.set(socket, name);
  }
  return name === false ? undefined : name;
}
