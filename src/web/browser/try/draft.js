// What somebody is writing: kept in this page while it is looked at other views or a login is asked for.

const drafts = new Map();
const MOST = 20;

export const isJson = (contentType) => /^[^;]*[/+]json\s*(?:;|$)/i.test(contentType);

/** @returns {{contentType: string, isForm: boolean, value: any, text: string} | undefined} */
export const draftOf = (key) => drafts.get(key);

export function keepDraft(key, draft) {
  drafts.delete(key);
  drafts.set(key, draft);
  const [oldest] = drafts.keys();
  if (drafts.size > MOST) drafts.delete(oldest);
}

export const forgetDrafts = () => drafts.clear();

/** What is sent. */
export const bodyOf = ({ contentType, isForm, value, text }) =>
  isJson(contentType) && isForm ? (JSON.stringify(value) ?? '') : text;
