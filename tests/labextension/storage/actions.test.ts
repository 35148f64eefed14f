import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import { record, string } from '../../../labextension/lib/api/wire.js';
import type { IExplorerContext } from '../../../labextension/lib/storage/actions.js';
import { actionsOf, copyToFolder, dropFiles } from '../../../labextension/lib/storage/actions.js';
import { ExplorerModel } from '../../../labextension/lib/storage/model.js';
import type { IContext } from '../../../labextension/lib/ui/context.js';

const HERE = 'file:///notebooks/';
const BUCKET = 'oss://b/';

/** An engine with a read-only folder and a bucket, which records uploads and copies. */
class Engine implements IEngine {
  readonly kind = 'server';
  readonly put: string[] = [];

  async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    const root = { problem: '', fix: '' };
    switch (verb) {
      case 'storages':
        return {
          storages: [
            { ...root, uri: BUCKET, title: 'b', profile: 'pai', scheme: 'oss', writable: true },
            { ...root, uri: HERE, title: 'Files', profile: '', scheme: 'file', writable: false }
          ]
        };
      case 'list_data': {
        const uri = String(parameters['uri']);
        if (uri.includes('none')) {
          throw new EngineError('There is nothing.', '', 'NotFound', 404);
        }
        const entries = ['a', 'sub/', 'z/'].map(path => ({ path, uri: uri + path, is_folder: path.endsWith('/') }));
        return { uri, parents: [{ name: 'b', uri }], entries, more: false };
      }
      default: {
        const { uri, name, path, profile } = record(body);
        this.put.push([verb, uri, name, path, profile].map(string).join(' '));
        return { id: 'c', status: 'done' };
      }
    }
  }

  subscribe(): void {
    assert.fail();
  }

  watch(): void {
    assert.fail();
  }

  url(): null {
    return null;
  }
}

const trans = {
  __: (text: string, ...values: unknown[]) =>
    values.reduce((all: string, value, n) => all.replace(`%${n + 1}`, String(value)), text)
} as unknown as IContext['trans'];

/** An Explorer with a user of a fixed answer, and a record of messages and prompts. */
function begin(answer: string | null = null): { explorer: IExplorerContext; engine: Engine; messages: string[] } {
  const engine = new Engine();
  const messages: string[] = [];
  const host: IContext['host'] = {
    confirm: async () => true,
    askText: async (title, _, value) => {
      messages.push(`${title}? ${value}`);
      return answer;
    },
    notify: text => void messages.push(text),
    openFile: () => undefined
  };
  const model = new ExplorerModel(engine);
  return { explorer: { engine, host, trans, lang: 'en', model, useInput: null }, engine, messages };
}

const announce = () => undefined;

/** Return a drop as browsers pass it: entries, whose files may be unreadable. */
function dropped(...entries: object[]): DataTransfer {
  return { items: entries.map(entry => ({ webkitGetAsEntry: () => entry })) } as unknown as DataTransfer;
}

test('reports dropped files that cannot be read, by name', async () => {
  const { explorer, messages, engine } = begin();
  await explorer.model.open(BUCKET);
  const broken = {
    isFile: true,
    fullPath: '/sub/gone.txt',
    file: (_: unknown, refuse: (error: Error) => void) => refuse(new Error('It is not there.'))
  };
  const readEntries = (_: unknown, refuse: (error: Error) => void) => refuse(new Error('It may not be read.'));
  const shut = { isDirectory: true, fullPath: '/shut', createReader: () => ({ readEntries }) };
  await dropFiles(explorer, dropped(broken), announce);
  await dropFiles(explorer, dropped(shut), announce);
  assert.deepEqual(messages, ['sub/gone.txt: It is not there.', 'shut: It may not be read.']);
  assert.deepEqual(engine.put, []);
});

test('uploads dropped files to the folder of the drop, even after leaving it', async () => {
  const { explorer, engine } = begin();
  await explorer.model.open(BUCKET);
  let give: ((file: File) => void) | undefined;
  const slow = { isFile: true, fullPath: '/x', file: (take: typeof give) => (give = take) };
  const pending = dropFiles(explorer, dropped(slow), announce);
  await explorer.model.open(`${BUCKET}sub/`);
  give?.(new File([], 'x'));
  await pending;
  assert.deepEqual(engine.put, [`begin_upload ${BUCKET}  x `]);
});

test('forbids writing to read-only storages', async () => {
  const { explorer } = begin();
  assert.equal(explorer.model.canWrite, false);
  await explorer.model.loadRoots();
  await explorer.model.open(HERE);
  assert.equal(explorer.model.canWrite, false);
  await explorer.model.open(BUCKET);
  assert.equal(explorer.model.canWrite, true);
});

test('copies workspace files to the folder that the user enters', async () => {
  const paths = ['work/a.csv', 'work/sub'];
  const { explorer, engine, messages } = begin(`${BUCKET}data/`);
  await copyToFolder(explorer, paths, announce); // No folder is open yet: the first writable root is suggested.
  assert.deepEqual(messages, [`Copy a.csv, sub to storage? ${BUCKET}`]);
  const copies = ['a.csv work/a.csv', 'sub work/sub'].map(names => `put_data ${BUCKET}data/ ${names} pai`);
  assert.deepEqual(engine.put, copies);
  assert.equal(explorer.model.location?.uri, `${BUCKET}data/`);
  await copyToFolder(explorer, paths, announce);
  assert.equal(messages[1], `Copy a.csv, sub to storage? ${BUCKET}data/`);
  assert.equal(engine.put.length, 4);

  for (const answer of [null, `${BUCKET}none/`]) {
    const other = begin(answer);
    await copyToFolder(other.explorer, paths, announce);
    assert.deepEqual(other.engine.put, []);
    assert.equal(other.explorer.model.error?.message, answer ? 'There is nothing.' : undefined);
  }
});

test('names the folders that cannot be downloaded', async () => {
  const { explorer, messages } = begin();
  const { model } = explorer;
  await model.open(BUCKET);
  const run = () =>
    actionsOf(explorer, announce)
      .find(action => action.id === 'download')
      ?.run();
  model.select(['a']);
  await run();
  assert.deepEqual(messages, []);
  model.select(['a', 'sub/', 'z/']);
  await run();
  assert.deepEqual(messages, ['Folders cannot be downloaded: sub, z. Copy folders to the workspace instead.']);
});
