// Packages that somebody wants to add, one after another: looked at, imported, activated. They outlive a login.
import { activate as activateKo, send } from '../shared/api.js';
import { useEffect, useState } from '../shared/html.js';
import { presentOf } from '../shared/restore.js';

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
    change(number, step === 'checking' ? { step } : { step, error: undefined });
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

/** What was compared with what is there now must still be there: else somebody changed it since, and it is checked again. */
const isAsChecked = async ({ ko, present }) => (await presentOf(ko))?.digest === present?.digest;

export const importUpload = (number) =>
  inTurn(number, 'importing', async (upload) => {
    const { file, check: checked } = upload;
    if (checked?.ko && !(await isAsChecked(checked))) {
      void check(number);
      throw new Error('Somebody changed ' + checked.ko + ' since this was checked: it is checked again.');
    }
    const response = await send('POST', 'kos', { body: formOf(file) });
    const ko = (await response.json()).Added.replace(/\/$/, '');
    // For others of this id it is another question now.
    for (const each of uploads)
      if (each.number !== number && each.step === 'checked' && each.check?.ko === ko) void check(each.number);
    return { step: 'imported', ko, replaced: response.headers.get('kgrid-replaced') !== null };
  });

export const activate = (number) =>
  inTurn(number, 'activating', async ({ ko }) => {
    await activateKo(ko);
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
