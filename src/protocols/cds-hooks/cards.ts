/** Cards on their way to a client: completed where the specification wants more than the code said, then held to its rules. */
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';

/** What stands in cards that name no source. */
export interface CardSource {
  readonly label: string;
  readonly url?: string | undefined;
}

type Json = Fields;

/** The answer of a service. */
export interface HookAnswer {
  readonly cards: readonly Json[];
  readonly systemActions?: readonly Json[];
}

/** A rule of the specification that an answer breaks: the message names the place and the rule. */
export class CardFault extends Error {
  override readonly name = 'CardFault';
}

const MOST_CARDS = 100;
/** "One-sentence, <140-character summary message". */
const SUMMARY_BELOW = 140;
const INDICATORS = ['info', 'warning', 'critical'];
const BEHAVIORS = ['at-most-one', 'any'];
const ACTIONS = ['create', 'update', 'delete'];

/** `value`: what the code returned, a list of cards or `{cards, systemActions}`. @throws CardFault. */
export function answerOf(value: unknown, source: CardSource): HookAnswer {
  const { cards, systemActions } = isObject(value) ? value : { cards: value ?? [] };
  const list = listIn(cards ?? [], 'cards');
  if (list.length > MOST_CARDS) throw new CardFault(`cards has more than ${MOST_CARDS} entries`);
  const completed = list.map((card, i) => checkedCard(card, `cards[${i}]`, source));
  if (systemActions === undefined || systemActions === null) return { cards: completed };
  const actions = listIn(systemActions, 'systemActions');
  return { cards: completed, systemActions: actions.map((action, i) => checkedAction(action, `systemActions[${i}]`)) };
}

function checkedCard(value: unknown, at: string, own: CardSource): Json {
  const card = objectIn(value, at);
  const summary = textIn(card['summary'], `${at}.summary`);
  if ([...summary].length >= SUMMARY_BELOW)
    throw new CardFault(
      `${at}.summary has ${[...summary].length} characters; it must have fewer than ${SUMMARY_BELOW}`,
    );
  oneOf(card['indicator'], INDICATORS, `${at}.indicator`);
  if (card['detail'] !== undefined) textIn(card['detail'], `${at}.detail`);
  if (card['uuid'] !== undefined) textIn(card['uuid'], `${at}.uuid`);
  const suggestions = optionalList(card['suggestions'], `${at}.suggestions`)?.map((each, i) =>
    checkedSuggestion(each, `${at}.suggestions[${i}]`),
  );
  if (suggestions !== undefined && suggestions.length > 0 && card['selectionBehavior'] === undefined)
    throw new CardFault(
      `${at}.selectionBehavior is missing: where there are suggestions it must be one of ${BEHAVIORS.join(', ')}`,
    );
  if (card['selectionBehavior'] !== undefined) oneOf(card['selectionBehavior'], BEHAVIORS, `${at}.selectionBehavior`);
  if (
    card['selectionBehavior'] === 'at-most-one' &&
    (suggestions ?? []).filter((each) => each['isRecommended'] === true).length > 1
  )
    throw new CardFault(`${at} recommends several suggestions of which at most one may be taken`);
  const reasons = optionalList(card['overrideReasons'], `${at}.overrideReasons`);
  reasons?.forEach((each, i) => {
    const reason = checkedCoding(each, `${at}.overrideReasons[${i}]`);
    textIn(reason['display'], `${at}.overrideReasons[${i}].display`);
  });
  const links = optionalList(card['links'], `${at}.links`);
  links?.forEach((each, i) => checkLink(each, `${at}.links[${i}]`));
  return {
    uuid: crypto.randomUUID(),
    ...card,
    source: checkedSource(card['source'], `${at}.source`, own),
    ...(suggestions !== undefined && { suggestions }),
  };
}

function checkedSource(value: unknown, at: string, own: CardSource): Json {
  if (value === undefined || value === null)
    return { label: own.label, ...(own.url !== undefined && { url: own.url }) };
  const source = objectIn(value, at);
  textIn(source['label'], `${at}.label`);
  for (const key of ['url', 'icon']) if (source[key] !== undefined) webAddress(source[key], `${at}.${key}`);
  if (source['topic'] !== undefined) checkedCoding(source['topic'], `${at}.topic`);
  return source;
}

function checkedSuggestion(value: unknown, at: string): Json {
  const suggestion = objectIn(value, at);
  textIn(suggestion['label'], `${at}.label`);
  if (suggestion['uuid'] !== undefined) textIn(suggestion['uuid'], `${at}.uuid`);
  if (suggestion['isRecommended'] !== undefined && typeof suggestion['isRecommended'] !== 'boolean')
    throw new CardFault(`${at}.isRecommended must be true or false`);
  optionalList(suggestion['actions'], `${at}.actions`)?.forEach((each, i) =>
    checkedAction(each, `${at}.actions[${i}]`),
  );
  return { uuid: crypto.randomUUID(), ...suggestion };
}

function checkedAction(value: unknown, at: string): Json {
  const action = objectIn(value, at);
  const type = oneOf(action['type'], ACTIONS, `${at}.type`);
  textIn(action['description'], `${at}.description`);
  if (type === 'delete') {
    if (typeof action['resourceId'] !== 'string' || !/^[A-Z][A-Za-z]+\/[A-Za-z0-9.-]{1,64}$/.test(action['resourceId']))
      throw new CardFault(`${at}.resourceId must name what is deleted, such as ServiceRequest/123`);
    return action;
  }
  const resource = objectIn(action['resource'], `${at}.resource`);
  textIn(resource['resourceType'], `${at}.resource.resourceType`);
  if (type === 'update') textIn(resource['id'], `${at}.resource.id`);
  return action;
}

function checkLink(value: unknown, at: string): void {
  const link = objectIn(value, at);
  textIn(link['label'], `${at}.label`);
  webAddress(link['url'], `${at}.url`);
  const type = oneOf(link['type'], ['absolute', 'smart'], `${at}.type`);
  if (link['appContext'] === undefined) return;
  textIn(link['appContext'], `${at}.appContext`);
  if (type !== 'smart') throw new CardFault(`${at}.appContext is only for links of the type smart`);
}

function checkedCoding(value: unknown, at: string): Json {
  const coding = objectIn(value, at);
  textIn(coding['code'], `${at}.code`);
  for (const key of ['system', 'display']) if (coding[key] !== undefined) textIn(coding[key], `${at}.${key}`);
  return coding;
}

function objectIn(value: unknown, at: string): Json {
  if (!isObject(value))
    throw new CardFault(`${at} ${value === undefined ? 'is missing: it' : ''} must be an object`.replace('  ', ' '));
  return value;
}

function listIn(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new CardFault(`${at} must be a list`);
  return value;
}

const optionalList = (value: unknown, at: string): readonly unknown[] | undefined =>
  value === undefined || value === null ? undefined : listIn(value, at);

function textIn(value: unknown, at: string): string {
  if (value === undefined || value === null) throw new CardFault(`${at} is missing`);
  if (typeof value !== 'string' || value.trim() === '') throw new CardFault(`${at} must be text`);
  return value;
}

function oneOf(value: unknown, words: readonly string[], at: string): string {
  const word = words.find((each) => each === value);
  if (word === undefined) throw new CardFault(`${at} must be one of ${words.join(', ')}`);
  return word;
}

/** Clients make links of them: a script would run in the record system. */
function webAddress(value: unknown, at: string): void {
  const text = textIn(value, at);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) throw new CardFault(`${at} must be an http or https address`);
}
