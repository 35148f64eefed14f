import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IEngine } from '../../../labextension/lib/api/engine.js';
import { ageText, choiceSource, matchingChoices, parseChoices } from '../../../labextension/lib/ui/fields/choices.js';

// Returns each text untranslated, with its parameters filled in.
const trans = {
  __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n: string) => String(values[Number(n) - 1]))
} as TranslationBundle;

const REPLY = {
  age: 90,
  left_out: 1,
  choices: [
    { value: 'gpu-a', label: 'Night' },
    { value: 'gpu-ab', label: '' }
  ],
  problem: 'Closed.',
  fix: 'Ask later.'
};

test('parses a list with its time and the reason that it is old', () => {
  const list = parseChoices(REPLY, 100_000);
  assert.deepEqual(
    list.choices.map(choice => [choice.text, choice.description]),
    [
      ['gpu-a', 'Night'],
      ['gpu-ab', '']
    ]
  );
  assert.deepEqual([list.time, list.hiddenCount, list.problem], [10_000, 1, 'Closed. Ask later.']);
  assert.deepEqual(parseChoices({ age: null }, 5), { choices: [], time: null, hiddenCount: 0, problem: '' });
});

test('finds values by a part of the value or its description, and all of them for one of the values', () => {
  const { choices } = parseChoices(REPLY, 0);
  const matches = (text: string) => matchingChoices(choices, text).map(choice => choice.text);
  assert.deepEqual(matches(''), ['gpu-a', 'gpu-ab']);
  assert.deepEqual(matches('AB'), ['gpu-ab']);
  assert.deepEqual(matches(' night'), ['gpu-a']);
  assert.deepEqual(matches('gpu-ab'), ['gpu-a', 'gpu-ab']);
  assert.deepEqual(matches('cpu'), []);
});

test('formats the age of a list', () => {
  const [minute, hour] = [60_000, 3_600_000];
  const ages = [-5, 59_999, minute, 59.9 * minute, hour, 47.9 * hour, 48 * hour].map(age => ageText(age, trans));
  assert.deepEqual(ages, ['just now', 'just now', '1 min ago', '59 min ago', '1 h ago', '47 h ago', '2 days ago']);
});

test('requests the list of a profile, and again only on demand', async () => {
  const calls: unknown[] = [];
  const engine = {
    call: (verb: string, parameters: unknown) => {
      calls.push([verb, parameters]);
      return Promise.resolve(REPLY);
    }
  } as unknown as IEngine;
  const source = choiceSource(engine, 'work');
  await source('queues', false);
  await source('queues', true);
  assert.deepEqual(calls, [
    ['choices', { name: 'queues', profile: 'work' }],
    ['choices', { name: 'queues', profile: 'work', refresh: true }]
  ]);
});
