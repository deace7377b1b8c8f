/** The endpoint representation of the specification as JSON text, which is made once for each endpoint that is decided. */
import type { Endpoint } from '../../activation/endpoint.ts';
import { LinkedObject } from '../../knowledge-object/linked-data.ts';
import { parseObject } from '../../knowledge-object/metadata-text.ts';
import { cutWords, withoutMark } from '../../lib/text.ts';
import type { Verdict } from '../../shelf/package/signatures/verdict.ts';
import { searchTextOf } from '../../lib/search.ts';

const CONTEXT = [
  'https://kgrid.org/koio/contexts/knowledgeobject.jsonld',
  'https://kgrid.org/koio/contexts/implementation.jsonld',
];

/** What stands before and behind the address of the client. */
type Text = readonly [before: string, behind: string];

export class EndpointTexts {
  readonly #texts = new WeakMap<Endpoint, Text>();
  readonly #searched = new WeakMap<Endpoint, string>();

  /** One endpoint for a client that came by this address. */
  of(endpoint: Endpoint, address: string): string {
    return this.#of(endpoint, linkStart(address));
  }

  /** A list of them. */
  listOf(endpoints: readonly Endpoint[], address: string): string {
    const start = linkStart(address);
    let text = '';
    for (const each of endpoints) text += (text === '' ? '' : ',') + this.#of(each, start);
    return `[${text}]`;
  }

  /** What it is found by. */
  searched(endpoint: Endpoint): string {
    let text = this.#searched.get(endpoint);
    if (text === undefined) {
      const { ko, id, entry } = endpoint;
      text = searchTextOf([
        `/kos/${ko.key}`,
        id,
        entry.engine,
        titleOf(endpoint),
        wordsIn(ko.metadata).keywords,
        ko.atId,
      ]);
      this.#searched.set(endpoint, text);
    }
    return text;
  }

  #of(endpoint: Endpoint, start: string): string {
    const [before, behind] = this.#texts.get(endpoint) ?? this.#make(endpoint);
    return before + start + behind;
  }

  #make(endpoint: Endpoint): Text {
    const text = textOf(endpoint);
    if (!endpoint.mayChange) this.#texts.set(endpoint, text);
    return text;
  }
}

/** What metadata say in words, whatever an author gave as such. */
export function wordsIn(metadata: string): { readonly title?: unknown; readonly keywords?: unknown } {
  const fields = parseObject(withoutMark(metadata), []);
  const root = fields === undefined ? undefined : LinkedObject.of(fields);
  return { title: root?.find('title')?.value, keywords: root?.find('keywords')?.value };
}

/** The form for an endpoint, up to the path of its descriptor. */
const linkStart = (address: string): string =>
  JSON.stringify(`${address}/doc?url=${encodeURIComponent(address)}`).slice(1, -1);

const titleOf = ({ ko, from }: Endpoint): string => cutWords(ko.details.title ?? from.service.title ?? ko.key);

/** With `detail` where there is something to say. */
function textOf(endpoint: Endpoint): Text {
  const { ko, from } = endpoint;
  const path = `/kos/${ko.key}`;
  // A file may be named `my service#2.yaml`: the path leads to it all the same.
  const descriptor = `${path}/${from.service.file.split('/').map(encodeURIComponent).join('/')}`;
  const rest = JSON.stringify({
    hasServiceSpecification: descriptor,
    activated: endpoint.activated,
    status: endpoint.status,
    detail: endpoint.detail,
    engine: endpoint.entry.engine,
    knowledgeObject: path,
    '@id': endpoint.id,
    signature: signatureOf(ko.trust),
    '@context': CONTEXT,
  });
  return [
    `{"title":${JSON.stringify(titleOf(endpoint))},"swaggerLink":"`,
    `${encodeURIComponent(descriptor)}",${rest.slice(1)}`,
  ];
}

/** What the trust policy says of its package; left out where nobody asks. */
const signatureOf = (trust: Verdict | undefined): unknown =>
  trust && {
    verdict: trust.reason === undefined ? 'trusted' : 'not trusted',
    reason: trust.reason,
    signers: trust.signatures.map(({ signer, time, isTimeProven }) => ({ signer, time, isTimeProven })),
  };
