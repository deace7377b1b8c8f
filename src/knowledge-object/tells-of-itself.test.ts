import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aboutKo } from './about-ko.ts';
import type { AboutKo } from './about-ko.ts';

const about = (fields: Readonly<Record<string, unknown>>): AboutKo => aboutKo(JSON.stringify(fields));
const NOTHING: AboutKo = { creators: [], contributors: [], keywords: [], evidence: [], documentation: [] };

test('what is not stated is not there, and what cannot be read says nothing', () => {
  for (const text of ['', '[]', '{', 'null', '{}', '{"title": {"en": "T"}, "dc:date": " "}', '\uFEFF{}']) {
    assert.deepEqual(aboutKo(text), NOTHING, text);
  }
});

test('the first generation is read by its fields', () => {
  const fields = {
    title: 'T',
    version: 'v1.0',
    description: 'D',
    contributors: 'Kgrid Team',
    keywords: ['a', 'b'],
    license: 'MIT',
  };
  assert.deepEqual(about(fields), { ...NOTHING, ...fields, contributors: ['Kgrid Team'] });
});

test('the second generation is read with its evidence', () => {
  const found = about({
    'dc:title': 'T',
    'dc:version': 'v2.0',
    version: 'v1.0',
    'dc:date': '2024-05-01',
    'dc:license': { '@id': 'https://www.gnu.org/licenses/gpl-3.0.html' },
    'schema:creator': [{ '@type': 'Person', 'schema:name': 'Ada' }, 'Grace', { '@id': 'https://orcid.org/0' }],
    'koio:contributors': { name: 'Team' },
    'schema:keywords': 'bmi, weight ,',
    'dc:source': 'Quetelet 1832',
    'koio:hasKnowledge': [
      {
        'dc:source': ['https://example.org/guideline'],
        'dc:date': '2020',
        'schema:creator': 'WHO',
        'koio:hasDocumentation': { '@id': 'doc/kb.md' },
        'koio:hasTest': 'test/kb.js',
      },
      { '@type': 'koio:Knowledge' },
    ],
    'koio:hasDocumentation': 'README.md',
  });
  assert.deepEqual(found, {
    title: 'T',
    version: 'v2.0',
    date: '2024-05-01',
    license: 'https://www.gnu.org/licenses/gpl-3.0.html',
    creators: ['Ada', 'Grace', 'https://orcid.org/0'],
    contributors: ['Team'],
    keywords: ['bmi', 'weight'],
    evidence: [
      { sources: ['Quetelet 1832'], creators: [], documentation: [], tests: [] },
      {
        sources: ['https://example.org/guideline'],
        date: '2020',
        creators: ['WHO'],
        documentation: ['doc/kb.md'],
        tests: ['test/kb.js'],
      },
    ],
    documentation: ['README.md'],
  });
});

for (const [spelled, what] of [
  ['hasKnowledge', 'source'],
  ['koio:hasKnowledge', 'dcterms:source'],
  ['http://kgrid.org/koio#hasKnowledge', 'http://purl.org/dc/elements/1.1/source'],
] as const) {
  test(`evidence below ${spelled}, as ${what}`, () => {
    const { evidence } = about({ [spelled]: { [what]: { '@value': 'S' } } });
    assert.deepEqual(evidence, [{ sources: ['S'], creators: [], documentation: [], tests: [] }]);
  });
}
