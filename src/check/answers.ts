/** What an activator answers, as those who call it over HTTP see it. */
import { fieldsOf } from '../lib/fields.ts';
import { STATUS_CODES } from '../lib/http-module.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
}

export async function readAnswer(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: jsonOr(await response.text()) };
}

/** What an error answer says to a person. */
export function wordsOf({ status, body }: Pick<Answer, 'status' | 'body'>): string {
  const fields = fieldsOf(body);
  const words = fields['Detail'] ?? fields['Error'];
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return typeof words === 'string' ? `${title}: ${words}` : title;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
