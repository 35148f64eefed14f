import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import {
  rootCompletions,
  commonPrefix,
  folderOf,
  folderCompletions,
  modelCompletions
} from '../../../labextension/lib/ui/fields/uricompletion.js';

test('completes in the folder before the last slash', () => {
  assert.deepEqual(folderOf('oss://b/data/tr', ''), { uri: 'oss://b/data/', prefix: 'oss://b/data/' });
  assert.equal(folderOf('oss://b', ''), null);
  assert.equal(folderOf('oss:', ''), null);
  assert.equal(folderOf('dataset://d-1/', '/home'), null);
  assert.deepEqual(folderOf('/a b/c', ''), { uri: 'file:///a%20b/', prefix: '/a b/' });
  assert.deepEqual(folderOf('data/x', '/home/me/'), { uri: 'file:///home/me/data/', prefix: 'data/' });
  assert.deepEqual(folderOf('', '/home/me'), { uri: 'file:///home/me/', prefix: '' });
  assert.equal(folderOf('data/x', ''), null);
  assert.deepEqual(folderOf('../x', '/home/me'), { uri: 'file:///home/', prefix: '../' });
  assert.deepEqual(folderOf('/a?#/x', ''), { uri: 'file:///a%3F%23/', prefix: '/a?#/' });
});

/** Storages with the given roots, whose folders all hold `names` and list at most `most` of them per request. */
function storage(names: readonly string[], most = 1000, roots: readonly object[] = []): IEngine['call'] {
  return (verb, parameters = {}) => {
    const left = names.filter(name => name > String(parameters['after'] ?? ''));
    const entries = left.slice(0, most).map(path => ({ path }));
    return Promise.resolve(verb === 'storages' ? { storages: roots } : { entries, more: left.length > most });
  };
}

test('suggests entries of the folder, and roots of the storages', async () => {
  const call = storage(['.git/', 'test/', 'train/', 'train.csv'], 1000, [
    { uri: 'oss://b/', scheme: 'oss', profile: 'mine' },
    { uri: 'oss://b/', scheme: 'oss', profile: 'mine' },
    { uri: 'oss://other/', scheme: 'oss', profile: 'other' },
    { uri: '', scheme: 'oss', profile: 'mine', problem: 'no answer' },
    { uri: 'file:///home/', scheme: 'file', profile: '' }
  ]);
  const texts = (options: readonly { text: string }[]) => options.map(option => option.text);
  const names = async (text: string) => texts(await folderCompletions(call, text, '/home', ''));
  assert.deepEqual(await names('oss://b/tr'), ['oss://b/train/', 'oss://b/train.csv']);
  assert.deepEqual(await names('oss://b/'), ['oss://b/test/', 'oss://b/train/', 'oss://b/train.csv']);
  assert.deepEqual(texts(await folderCompletions(storage(['a?#b/', 'a c']), 'file:///x/a', '', '')), [
    'file:///x/a%3F%23b/',
    'file:///x/a%20c'
  ]);
  assert.deepEqual(texts(await folderCompletions(storage(['a c1', 'a c2', 'b']), 'file:///x/a%20c', '', '')), [
    'file:///x/a%20c1',
    'file:///x/a%20c2'
  ]);
  assert.deepEqual(await names(''), ['test/', 'train/', 'train.csv']);
  assert.deepEqual(await names('.g'), ['.git/']);
  assert.deepEqual(await names('train.csv'), []);
  assert.deepEqual(await names('oss://b'), []);
  const roots = async (text: string, profile: string) => texts(await rootCompletions(call, text, profile));
  for (const prefix of ['', 'os', 'oss:', 'oss:/', 'oss://', 'oss://b']) {
    assert.deepEqual(await roots(prefix, 'mine'), ['oss://b/'], prefix);
  }
  assert.deepEqual(await roots('os', ''), ['oss://b/', 'oss://other/']);
  assert.deepEqual([await roots('oss://b/', ''), await roots('data/', ''), await roots('/', '')], [[], [], []]);
  assert.equal(commonPrefix(await folderCompletions(call, 'oss://b/t', '', '')), 'oss://b/t');
  assert.equal(commonPrefix(await folderCompletions(call, 'oss://b/tr', '', '')), 'oss://b/train');
});

test('requests only entries after the typed prefix where the folder has several pages', async () => {
  const call = storage(['a', 'b', 'c', 'train'], 2);
  assert.deepEqual(
    (await folderCompletions(call, '/d/tr', '', '')).map(option => option.text),
    ['/d/train']
  );
});

test('suggests registered models, and versions after the question mark', async () => {
  const call: IEngine['call'] = (verb, parameters = {}) => {
    if (parameters['profile'] === 'local') {
      return Promise.reject(new EngineError('no registry', '', 'Unsupported'));
    }
    assert.equal(parameters['model'], verb === 'models' ? undefined : 'net 1');
    return Promise.resolve(
      verb === 'models'
        ? { models: [{ name: 'net 1' }, { name: 'other' }] }
        : {
            versions: [
              { id: '2', version: '0.2.0' },
              { id: '1', version: '' }
            ]
          }
    );
  };
  const names = async (text: string, profile = '') =>
    (await modelCompletions(call, text, profile)).map(option => option.text);
  assert.deepEqual(await names('model://'), ['model://net%201', 'model://other']);
  assert.deepEqual(await names('model://o', 'local'), ['model://other']);
  assert.deepEqual(await names('model://net%201?', 'p'), [
    'model://net%201?version=0.2.0',
    'model://net%201?version=1'
  ]);
  assert.deepEqual(await names('model://net%201?version=0'), ['model://net%201?version=0.2.0']);
  assert.deepEqual(await names('/data/'), []);
  assert.equal(folderOf('model://net/', '/home'), null);
});
