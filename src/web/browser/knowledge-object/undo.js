// What was deleted in this tab can be brought back from each view, until that is said to be done with.
import { html, useEffect, useState } from '../shared/html.js';
import { hrefOf, Problem } from '../shared/parts.js';
import { presentOf, restore } from '../shared/restore.js';
import { useAction } from '../shared/use-result.js';

/** @type {{ko: string, digest: string, isRunning: boolean}[]} */
let deleted = [];
const listeners = new Set();

const change = (next) => {
  deleted = next;
  for (const listener of listeners) listener(deleted);
};

export const offerUndo = (entry) => change([...deleted.filter(({ ko }) => ko !== entry.ko), entry]);

const dismiss = (ko) => change(deleted.filter((each) => each.ko !== ko));

addEventListener('kgrid-logout', () => change([]));

/** What somebody added meanwhile is not replaced. */
async function requireNone(ko) {
  if ((await presentOf(ko)) !== undefined)
    throw new Error(
      ko + ' was added again meanwhile. What you deleted is in the list of what was deleted or replaced.',
    );
}

const Entry = ({ ko, digest, isRunning }) => {
  const [state, run] = useAction();
  const undo = () =>
    run('Restoring…', async () => {
      await requireNone(ko);
      await restore(ko, digest);
      return true;
    });
  return html`<div class="undo">
    <p role="status">
      ${
        state.done
          ? html`<a href=${hrefOf(ko)}>${ko}</a> is on the shelf again and activated.`
          : html`<strong>${ko}</strong> was deleted.${isRunning && ' Calls go on until the next refresh.'}`
      }
    </p>
    <${Problem} error=${state.error} />
    ${
      !state.done &&
      html`<button disabled=${state.doing !== undefined} onClick=${undo} aria-label=${'Undo the deletion of ' + ko}>
        Undo
      </button>`
    }
    <button class="plain" onClick=${() => dismiss(ko)} aria-label=${'Dismiss the note about ' + ko}>Dismiss</button>
  </div>`;
};

export const Undo = () => {
  const [entries, setEntries] = useState(deleted);
  useEffect(() => {
    listeners.add(setEntries);
    return () => listeners.delete(setEntries);
  }, []);
  return (
    entries.length > 0 &&
    html`<aside aria-label="Deleted in this tab">
      ${entries.map((each) => html`<${Entry} key=${each.ko} ...${each} />`)}
    </aside>`
  );
};
