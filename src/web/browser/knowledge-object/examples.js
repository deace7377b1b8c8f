// Worked examples of a knowledge object, which can be run: what they must give, and what came.
import { differences } from 'kgrid/compare-results';
import { pathOf } from '../shared/api.js';
import { call } from '../shared/call-endpoint.js';
import { html, Pre, useEffect, useRef, useState } from '../shared/html.js';
import { countOf, duration, Empty, Problem, Waiting } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';
import { asText } from '../shared/call-result.js';

const bodyOf = ({ input, contentType }) =>
  input === undefined
    ? undefined
    : typeof input === 'string' && !/json$/.test(contentType)
      ? input
      : JSON.stringify(input);

/** What is wrong with the answer, in the words of `kgrid test`; empty where it is the one that is expected. */
function problemsOf({ expected }, answer) {
  if ('error' in expected) {
    if (answer.isDone) return ['It should fail with: ' + expected.error];
    return answer.detail.includes(expected.error) ? [] : ['The error should hold: ' + expected.error];
  }
  if (!answer.isDone) return ['It failed: ' + answer.detail];
  return differences(expected.result, answer.result, expected.tolerance).map(
    ({ path, expected: wanted, got }) => (path === '' ? '' : path + ': ') + 'expected ' + wanted + ', got ' + got,
  );
}

async function run(example, signal) {
  const { endpoint, method, contentType } = example;
  const answer = await call({ endpoint, method, contentType, body: bodyOf(example), signal });
  return { answer, problems: problemsOf(example, answer) };
}

const Value = ({ name, value }) =>
  html`<div>
    <dt>${name}</dt>
    <dd>
      <${Pre} text=${asText(value)} />
    </dd>
  </div>`;

const Example = ({ example, state, onRun, isBusy }) => {
  const { name, summary, endpoint, input, expected } = example;
  const { answer, problems, error, isRunning } = state ?? {};
  const isSame = problems?.length === 0;
  return html`<li>
    <div class="row">
      <h2 class="grow">${name}</h2>
      <p role="status">
        ${isRunning && 'Running…'}
        ${
          answer &&
          html`<span class="state" data-kind=${isSame ? 'good' : 'bad'}
              >${isSame ? 'as expected' : 'not as expected'}</span
            >
            ${duration(answer.ms)}`
        }
      </p>
      <button class="plain" disabled=${isBusy} onClick=${onRun} aria-label=${'Run ' + name}>Run</button>
    </div>
    <p class="quiet">${summary ? summary + ' · ' : ''}<code>/${endpoint}</code></p>
    <${Problem} error=${error} />
    ${
      problems?.length > 0 &&
      html`<ul>
        ${problems.slice(0, 20).map((each) => html`<li data-kind="bad">${each}</li>`)}
      </ul>`
    }
    <details>
      <summary aria-label=${'Input and results of ' + name}>Input and results</summary>
      <dl class="values">
        ${input !== undefined && html`<${Value} name="Input" value=${input} />`}
        <${Value}
          name="Expected"
          value=${'error' in expected ? 'an error that holds: ' + expected.error : expected.result}
        />
        ${answer && html`<${Value} name="What came" value=${answer.isDone ? answer.result : answer.detail} />`}
      </dl>
    </details>
  </li>`;
};

export const Examples = ({ id, about }) => {
  const loaded = useLoaded('doc/forms/' + pathOf(id), about.runs.join());
  const { data } = loaded;
  /** By place in the list. */
  const [states, setStates] = useState({});
  const [isBusy, setBusy] = useState(false);
  const stop = useRef(null);
  useEffect(() => () => stop.current?.abort(), []);
  const examples = (data ?? []).flatMap(({ endpoint, method, examples: of, contentTypes }) =>
    of
      .filter(({ expected }) => expected !== undefined)
      .map((each) => ({ contentType: contentTypes[0], ...each, endpoint, method })),
  );
  const set = (i, state) => setStates((before) => ({ ...before, [i]: state }));
  const runAll = async (which) => {
    const { signal } = (stop.current = new AbortController());
    setBusy(true);
    for (const i of which) {
      set(i, { isRunning: true });
      try {
        set(i, await run(examples[i], signal));
      } catch (thrown) {
        if (signal.aborted) break;
        set(i, { error: thrown });
        // A login that is needed, or a service that is gone, is so for all.
        if (thrown.status === 401 || thrown.status === undefined) break;
      }
    }
    if (!signal.aborted) setBusy(false);
  };
  const done = Object.values(states).filter(({ problems }) => problems !== undefined);
  const same = done.filter(({ problems }) => problems.length === 0).length;
  const problem = data?.find((each) => each.problem !== undefined)?.problem;
  return html`
    <${Waiting} of=${loaded} />
    ${problem && html`<p class="note">${problem}</p>`}
    ${data && examples.length === 0 && html`<${Empty}>There are no worked examples that can be run. Authors write them in worked-examples.yaml.<//>`}
    ${
      examples.length > 0 &&
      html`<div class="row">
        <button disabled=${isBusy} onClick=${() => runAll(examples.keys())}>Run all</button>
        <p role="status">
          ${done.length > 0 && `${same} of ${done.length} as expected${done.length < examples.length ? `, of ${countOf(examples.length, 'example')}` : ''}`}
        </p>
      </div>`
    }
    <ul class="items plain-items">
      ${examples.map(
        (example, i) =>
          html`<${Example}
            key=${i}
            example=${example}
            state=${states[i]}
            isBusy=${isBusy}
            onRun=${() => runAll([i])}
          />`,
      )}
    </ul>
  `;
};
