// Packages that somebody wants to add, one after another: looked at, imported, activated. They outlive a login.
import { pathOf, send } from '../shared/api.js';
import { useEffect, useState } from '../shared/html.js';
import { readKo } from '../shared/knowledge-object-data.js';

/**
 * @typedef {{number: number, file: File, step: 'waits' | 'checking' | 'checked' | 'importing' | 'imported' | 'activating' | 'active',
 *   check?: any, ko?: string, replaced?: boolean, error?: any}} Upload
 * `error` is of the step that was tried last.
 */

const MOST = 50;

/** @type {Upload[]} */
let uploads = [];
let last = 0;
const listeners = new Set();

const tell = () => {
  for (const listener of listeners) listener(uploads);
};

const change = (number, parts) => {
  uploads = uploads.map((each) => (each.number === number ? { ...each, ...parts } : each));
  tell();
};

const formOf = (file) => {
  const form = new FormData();
  form.append('ko', file, file.name);
  return form;
};

let work = Promise.resolve();

/** One after another: a check takes a process of the service. */
const inTurn = (number, step, action) => {
  work = work.then(async () => {
    const upload = uploads.find((each) => each.number === number);
    if (upload === undefined) return;
    change(number, { step, error: undefined });
    try {
      change(number, await action(upload));
    } catch (error) {
      change(number, { step: upload.step, error });
    }
  });
  return work;
};

export const check = (number) =>
  inTurn(number, 'checking', async ({ file }) => {
    const response = await send('POST', 'actuator/check', { body: formOf(file) });
    return { step: 'checked', check: await response.json() };
  });

/** What was compared with what is there now must still be there: else somebody changed it since. */
async function requirePresent({ ko, present }) {
  if (ko === undefined || present === null || present === undefined) return;
  const { digest } = await readKo(ko).catch(() => ({ digest: undefined }));
  if (digest !== undefined && digest.replace('sha256:', '') !== present.digest.replace('sha256:', ''))
    throw new Error('Somebody changed ' + ko + ' since this was checked: check it again.');
}

export const importUpload = (number) =>
  inTurn(number, 'importing', async ({ file, check: checked }) => {
    await requirePresent(checked ?? {});
    const response = await send('POST', 'kos', { body: formOf(file) });
    const ko = (await response.json()).Added.replace(/\/$/, '');
    return { step: 'imported', ko, replaced: response.headers.get('kgrid-replaced') !== null };
  });

export const activate = (number) =>
  inTurn(number, 'activating', async ({ ko }) => {
    await send('POST', 'actuator/activation/reload/' + pathOf(ko));
    return { step: 'active' };
  });

/** Begins with a check. */
export function addFiles(files) {
  const added = [...files].slice(0, MOST - uploads.length).map((file) => ({ number: ++last, file, step: 'waits' }));
  uploads = [...uploads, .../** @type {Upload[]} */ (added)];
  tell();
  for (const { number } of added) void check(number);
  return files.length - added.length;
}

export function remove(number) {
  uploads = uploads.filter((each) => each.number !== number);
  tell();
}

addEventListener('kgrid-logout', () => {
  uploads = [];
  tell();
});

export function useUploads() {
  const [all, setAll] = useState(uploads);
  useEffect(() => {
    listeners.add(setAll);
    return () => listeners.delete(setAll);
  }, []);
  return all;
}
