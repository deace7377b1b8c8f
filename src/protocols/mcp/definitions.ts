/** What is told of each tool, and how its arguments become an input: made once for each endpoint. */
import type { Tool } from '@modelcontextprotocol/server';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointForms } from '../../execution/validation/endpoint-forms.ts';
import type { FormParts } from '../../execution/validation/form-thread.ts';
import { isObject } from '../../lib/json.ts';
import { plainCheck } from '../../execution/validation/plain-check.ts';
import type { PlainCheck } from '../../execution/validation/plain-check.ts';
import { isJson, mediaTypeOf } from '../../lib/media-type.ts';
import { descriptionOf, titleOf } from './tool-text.ts';
import { OBJECT, toolSchema, writtenOut } from './tool-schema.ts';
import type { ToolSchema } from './tool-schema.ts';

/** How a call of a tool becomes one of its endpoint. */
export interface ToolForm {
  /** The arguments are `{input: …}`. */
  readonly wrapsInput: boolean;
  /** Of the body. */
  readonly contentType: string;
  readonly isJson: boolean;
  /** The result is given as `{result: …}`, also where it is an object; undefined: where it is none. */
  readonly wrapsResult: boolean | undefined;
  /** Sees at once that an input keeps the schema. */
  readonly keeps: PlainCheck | undefined;
  /** `image/…` or `audio/…`, where the result is that. */
  readonly resultType: string | undefined;
}

export interface Definition {
  readonly form: ToolForm;
  /** Without its name. */
  readonly tool: Omit<Tool, 'name'>;
}

export class Definitions {
  readonly #forms: EndpointForms;
  readonly #made = new WeakMap<Endpoint, Promise<Definition>>();

  constructor(forms: EndpointForms) {
    this.#forms = forms;
  }

  of(endpoint: Endpoint): Promise<Definition> {
    let made = this.#made.get(endpoint);
    if (made === undefined) {
      made = this.#make(endpoint);
      this.#made.set(endpoint, made);
      // What could not be read may be readable later.
      made.catch(() => this.#made.delete(endpoint));
    }
    return made;
  }

  async #make(endpoint: Endpoint): Promise<Definition> {
    const [text = '{}'] = await this.#forms.of(endpoint, [endpoint]);
    return definitionOf(endpoint, JSON.parse(text) as FormParts);
  }
}

function definitionOf(endpoint: Endpoint, parts: FormParts): Definition {
  const { accepts, responds, entry } = endpoint;
  const contentType = accepts.find((each) => isJson(mediaTypeOf(each))) ?? accepts.find((each) => each === '*/*');
  const isOfJson = contentType !== undefined || accepts.length === 0;
  const input = isOfJson ? toolSchema(parts.schema, 'input') : TEXT;
  const resultType = responds.map(mediaTypeOf).find((each) => /^(?:image|audio)\/[\w.+-]+$/.test(each));
  const output = resultType === undefined ? toolSchema(parts.responseSchema, 'result') : undefined;
  const inputSchema: ToolSchema = input?.schema ?? OBJECT;
  const wraps = { input: input?.isWrapped === true, result: output?.isWrapped === true };
  // Code that reaches others may change something there, and may give another answer each time.
  const isAlone = (entry.network ?? []).length === 0;
  return {
    form: {
      wrapsInput: wraps.input,
      contentType: isOfJson
        ? contentType === '*/*'
          ? JSON_TYPE
          : (contentType ?? JSON_TYPE)
        : (accepts[0] ?? 'text/plain'),
      isJson: isOfJson,
      keeps: keepsOf(parts),
      wrapsResult: output?.isWrapped,
      resultType,
    },
    tool: {
      title: titleOf(endpoint),
      description: descriptionOf(endpoint, parts, inputSchema, wraps),
      inputSchema,
      ...(output === undefined ? {} : { outputSchema: output.schema }),
      annotations: {
        title: titleOf(endpoint),
        readOnlyHint: isAlone,
        ...(isAlone && { destructiveHint: false }),
        idempotentHint: isAlone,
        openWorldHint: !isAlone,
      },
    },
  };
}

function keepsOf({ schema, problem }: FormParts): PlainCheck | undefined {
  if (schema === null) return problem === undefined ? plainCheck(true) : undefined;
  return plainCheck(isObject(schema) ? writtenOut(schema) : schema);
}

const JSON_TYPE = 'application/json';
const TEXT = {
  schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
  isWrapped: true,
} as const;
