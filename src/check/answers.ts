/** What an activator answers, as those who call it over HTTP see it. */
import { STATUS_CODES } from '../lib/http-module.ts';
import { fieldsOf, jsonOr } from '../lib/json.ts';

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
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: jsonOr(text, text) };
}

/** What an error answer says to a person. */
export function wordsOf({ status, body }: Pick<Answer, 'status' | 'body'>): string {
  const fields = fieldsOf(body);
  const words = fields['Detail'] ?? fields['Error'];
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return typeof words === 'string' ? `${title}: ${words}` : title;
}
