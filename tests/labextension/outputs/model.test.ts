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

test('parses malformed responses into valid channels', () => {
  for (const response of [null, [], 'x', {}, { channels: 3 }]) {
    assert.deepEqual(parseOutputs(response), []);
  }
  const [channel] = parseOutputs({
    channels: [{ name: 'model', state: 'new word', files: [{ path: 'a', modified: 2 }, 3] }]
  });
  assert.equal(channel?.state, 'unknown');
  assert.equal(channel.workspacePath, null);
  assert.deepEqual(channel.files[0], { path: 'a', bytes: 0, modified: 2000, problem: '' });
  assert.equal(parseTransfer({ error: { message: 'No.', fix: 'Do.' } }).error, 'No. Do.');
});

/** A server with `count` files in the channel `model`, which records its requests. */
function server(count: number): { call: Parameters<typeof load>[0]; requests: object[] } {
  const requests: object[] = [];
  const call: Parameters<typeof load>[0] = async (_verb, parameters = {}) => {
    requests.push(parameters);
    const [offset, limit] = [Number(parameters['offset'] ?? 0), Number(parameters['limit'])];
    const files = Array.from({ length: Math.max(Math.min(limit, count - offset), 0) }, (_, n) => ({
      path: `f${offset + n}`
    }));
    return { channels: [{ name: 'model', count, matching: count, files }] };
  };
  return { call, requests };
}

const QUERY: IQuery = { match: '', sort: 'path', isDescending: false };

test('requests as many pages as the list needs', async () => {
  const { call, requests } = server(5000);
  const [channel] = await load(call, 'j', QUERY, new Map([['model', 1300]]));
  assert.deepEqual(
    channel?.files.map(file => file.path),
    Array.from({ length: 1300 }, (_, n) => `f${n}`)
  );
  assert.equal(requests.length, 4);
  assert.equal((await load(server(5000).call, 'j', QUERY, new Map()))[0]?.files.length, 100);
  assert.equal((await load(server(120).call, 'j', QUERY, new Map([['model', 600]])))[0]?.files.length, 120);
});

test('ends the list when files vanish between two pages', async () => {
  const { call } = server(150);
  const shrinking: typeof call = async (verb, parameters) =>
    parameters?.['offset'] ? { channels: [] } : call(verb, parameters);
  assert.equal((await load(shrinking, 'j', QUERY, new Map([['model', 600]])))[0]?.files.length, 100);
});

test('splits paths, and derives variables and file kinds from names', () => {
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

test('formats JSON without changing its numbers', () => {
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

test('keeps invalid JSON, in bounded size', () => {
  for (const text of ['}}}]', '{"open', '[', '{"a" 1}', 'NaN', '"\\']) {
    assert.equal(formatJson(text).replace(/\s/g, ''), text.replace(/\s/g, ''));
  }
  assert.ok(formatJson('['.repeat(100_000)).length < 5_000_000);
});
