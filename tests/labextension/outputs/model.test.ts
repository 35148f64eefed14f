import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IQuery } from '../../../labextension/lib/outputs/model.js';
import {
  formatJson,
  joinPath,
  kindOf,
  load,
  parseOutputs,
  splitPath,
  outputVariable
} from '../../../labextension/lib/outputs/model.js';
import { parseTransfer } from '../../../labextension/lib/api/transfer.js';

test('whatever the server says, there are channels of files', () => {
  for (const said of [null, [], 'x', {}, { channels: 3 }]) {
    assert.deepEqual(parseOutputs(said), []);
  }
  const [channel] = parseOutputs({
    channels: [{ name: 'model', state: 'new word', files: [{ path: 'a', modified: 2 }, 3] }]
  });
  assert.equal(channel?.state, 'unknown');
  assert.equal(channel.workspacePath, null);
  assert.deepEqual(channel.files[0], { path: 'a', bytes: 0, modified: 2000, problem: '' });
  assert.equal(parseTransfer({ error: { message: 'No.', fix: 'Do.' } }).error, 'No. Do.');
});

/** A server with so many files in the channel `model`; it notes what it is asked. */
function served(count: number): { ask: Parameters<typeof load>[0]; asked: object[] } {
  const asked: object[] = [];
  const ask: Parameters<typeof load>[0] = async (_verb, parameters = {}) => {
    asked.push(parameters);
    const [offset, limit] = [Number(parameters['offset'] ?? 0), Number(parameters['limit'])];
    const files = Array.from({ length: Math.max(Math.min(limit, count - offset), 0) }, (_, n) => ({
      path: `f${offset + n}`
    }));
    return { channels: [{ name: 'model', count, matching: count, files }] };
  };
  return { ask, asked };
}

const QUERY: IQuery = { match: '', sort: 'path', isDescending: false };

test('as many files are asked for as are wanted, in pages that the server gives', async () => {
  const { ask, asked } = served(5000);
  const [channel] = await load(ask, 'j', QUERY, new Map([['model', 1300]]));
  assert.deepEqual(
    channel?.files.map(file => file.path),
    Array.from({ length: 1300 }, (_, n) => `f${n}`)
  );
  assert.equal(asked.length, 4);
  assert.equal((await load(served(5000).ask, 'j', QUERY, new Map()))[0]?.files.length, 100);
  assert.equal((await load(served(120).ask, 'j', QUERY, new Map([['model', 600]])))[0]?.files.length, 120);
});

test('files that vanish while they are listed end the list', async () => {
  const { ask } = served(150);
  const shrinking: typeof ask = async (verb, parameters) =>
    parameters?.['offset'] ? { channels: [] } : ask(verb, parameters);
  assert.equal((await load(shrinking, 'j', QUERY, new Map([['model', 600]])))[0]?.files.length, 100);
});

test('paths and names', () => {
  assert.deepEqual(splitPath('a/b/c.txt'), ['a/b/', 'c.txt']);
  assert.deepEqual(splitPath('c.txt'), ['', 'c.txt']);
  assert.equal(joinPath('', 'a'), 'a');
  assert.equal(joinPath('x/', 'a'), 'x/a');
  assert.equal(outputVariable('my-model'), 'PAI_OUTPUT_MY_MODEL');
  assert.equal(kindOf('a/B.PNG'), 'image');
  assert.equal(kindOf('a.ipynb'), 'json');
  assert.equal(kindOf('a.HTML'), 'page');
  assert.equal(kindOf('png'), 'text');
  assert.equal(kindOf('constructor'), 'text');
});

test('JSON gets lines, and its numbers stay as they are', () => {
  assert.equal(
    formatJson('{"a":12345678901234567890,"b":[1.0,{}, []],"c":"x: {\\"y\\",[1]}"}'),
    '{\n  "a": 12345678901234567890,\n  "b": [\n    1.0,\n    {},\n    []\n  ],\n  "c": "x: {\\"y\\",[1]}"\n}'
  );
  assert.equal(formatJson('[]'), '[]');
  assert.equal(formatJson(''), '');
  const value = { a: [1, -2.5e-7, null, true, 'é\n"'], b: { c: [[], [[]]] } };
  assert.equal(formatJson(JSON.stringify(value)), JSON.stringify(value, null, 2));
  assert.equal(formatJson(JSON.stringify(value, null, 4)), JSON.stringify(value, null, 2));
});

test('what is no JSON harms nobody', () => {
  for (const text of ['}}}]', '{"open', '[', '{"a" 1}', 'NaN', '"\\']) {
    assert.equal(formatJson(text).replace(/\s/g, ''), text.replace(/\s/g, ''));
  }
  assert.ok(formatJson('['.repeat(100_000)).length < 5_000_000);
});
