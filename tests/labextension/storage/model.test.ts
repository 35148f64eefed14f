import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import { number, record, string } from '../../../labextension/lib/api/wire.js';
import { numberedName } from '../../../labextension/lib/storage/entries.js';
import { ExplorerModel } from '../../../labextension/lib/storage/model.js';
import type { Transfer } from '../../../labextension/lib/storage/transfermodel.js';

const ROOT = 'oss://bucket/data/';

/** An engine with one bucket, which accepts uploads as the real engine does. */
class Engine implements IEngine {
  readonly kind = 'server';
  files = new Map<string, number>();
  readonly calls: [Verb, Parameters, unknown][] = [];
  /** The largest accepted piece in bytes, and the number of pieces to lose. */
  largest = Infinity;
  losses = 0;
  /** The number of pieces to accept without a response. */
  lostAnswers = 0;
  /** The status of a complete file until it is polled. */
  atFirst = 'done';
  /** Files that fail, and promises that other files wait for. */
  broken = new Set<string>();
  gates = new Map<string, Promise<void>>();
  /** Responses to `list_data` that are held back, in order; null to hold back none. */
  held: (() => void)[] | null = null;
  accounts = ['pai'];
  /** Responses to the next polls of a copy: an error or a status; `done` afterwards. */
  readonly polls: (Error | string)[] = [];
  readonly pieces: number[] = [];
  private readonly uploads = new Map<string, { path: string; bytes: number; received: number; status: string }>();

  call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    this.calls.push([verb, parameters, body]);
    const { held } = this;
    const gate = verb === 'list_data' && held ? new Promise<void>(resolve => held.push(resolve)) : Promise.resolve();
    return gate.then(() => this.answer(verb, parameters, record(body)));
  }

  async sendBytes(_: Verb, { copy, offset }: Parameters, bytes: Blob): Promise<unknown> {
    const upload = this.uploads.get(String(copy));
    assert(upload);
    await this.gates.get(upload.path);
    if (this.broken.has(upload.path)) {
      throw new EngineError('The disk is full.', '', 'EngineError', 500);
    }
    if (upload.received === upload.bytes) {
      throw new EngineError('This upload is over, or goes on by itself.', '', 'Conflict', 409);
    }
    if (bytes.size > this.largest) {
      throw new EngineError('Request Entity Too Large', '', '', 413);
    }
    assert.equal(offset, upload.received);
    if (this.losses-- > 0) {
      throw new EngineError('no response');
    }
    this.pieces.push(bytes.size);
    upload.received += bytes.size;
    if (upload.received === upload.bytes) {
      upload.status = this.atFirst;
      this.files.set(upload.path, upload.bytes);
    }
    if (this.lostAnswers-- > 0) {
      throw new EngineError('no response');
    }
    return { id: copy, status: upload.status };
  }

  subscribe(): void {
    throw new Error('not used');
  }

  watch(): void {
    throw new Error('not used');
  }

  url(): null {
    return null;
  }

  private answer(verb: Verb, parameters: Parameters, body: Json): unknown {
    if (verb === 'storages') {
      const root = { uri: ROOT, title: 'bucket', scheme: 'oss', writable: true, problem: '', fix: '' };
      return { storages: this.accounts.map(profile => ({ ...root, profile })) };
    }
    if (verb === 'list_data') {
      return this.list(String(parameters['uri']), String(parameters['after']), Number(parameters['limit']));
    }
    if (verb === 'begin_upload') {
      const path = string(body['path']);
      if (this.files.has(path) && body['overwrite'] !== true) {
        throw new EngineError('there already', '', 'Conflict', 409, { files: [path] });
      }
      const id = `u${this.uploads.size}`;
      this.uploads.set(id, { path, bytes: number(body['bytes']) ?? 0, received: 0, status: 'waiting' });
      return { id, status: 'waiting' };
    }
    if (verb === 'copy') {
      const response = this.polls.shift() ?? 'done';
      if (response instanceof Error) {
        throw response;
      }
      return { id: parameters['copy'], status: response, bytes: 10, done: 5 };
    }
    assert(verb === 'cancel_copy' || verb === 'put_data', verb);
    return { id: 'c', status: 'running' };
  }

  private list(uri: string, after: string, limit: number): unknown {
    if (!uri.startsWith(ROOT)) {
      throw new EngineError('There is nothing.', 'See what there is.', 'NotFound', 404);
    }
    const below = uri.slice(ROOT.length);
    const names = [...this.files.keys()].filter(key => key.startsWith(below)).map(key => key.slice(below.length));
    const top = [...new Set(names.map(name => name.replace(/\/.*/, '/')))].sort().filter(name => name > after);
    const entries = top.slice(0, limit).map(path => ({
      path,
      uri: uri + path,
      bytes: this.files.get(below + path) ?? 0,
      modified: this.files.get(below + path) ?? 0,
      is_folder: path.endsWith('/'),
      problem: ''
    }));
    const parts = below.split('/').slice(0, -1);
    const parents = parts.map((name, n) => ({ name, uri: `${ROOT}${parts.slice(0, n + 1).join('/')}/` }));
    return {
      uri,
      parents: [{ name: 'oss://bucket/', uri: 'oss://bucket/' }, { name: 'data', uri: ROOT }, ...parents],
      entries,
      more: top.length > limit
    };
  }
}

async function opened(files: Record<string, number>, accounts = ['pai']): Promise<[ExplorerModel, Engine]> {
  const engine = new Engine();
  engine.accounts = accounts;
  engine.files = new Map(Object.entries(files));
  const model = new ExplorerModel(engine);
  await model.loadRoots();
  await model.open(ROOT, model.roots?.at(-1));
  return [model, engine];
}

/** Run the pending promises. */
const settle = () => new Promise(resolve => setImmediate(resolve));

/** Advance the timers continuously until the returned function is called. */
function fastForward(): () => void {
  mock.timers.enable({ apis: ['setTimeout'] });
  const go = () => {
    mock.timers.tick(10_000);
    next = setImmediate(go);
  };
  let next = setImmediate(go);
  return () => {
    clearImmediate(next);
    mock.timers.reset();
  };
}

const paths = (model: ExplorerModel) => model.entries.map(entry => entry.path);

test('opens folders and goes up again to the previous entry', async () => {
  const [model] = await opened({ a: 1, 'sub/b': 1, 'sub/deep/c': 1, z: 2 });
  assert.deepEqual(paths(model), ['a', 'sub/', 'z']);
  await model.open(`${ROOT}sub/deep/`);
  assert.deepEqual(
    model.location?.breadcrumbs.map(crumb => crumb.name),
    ['bucket', 'sub', 'deep']
  );
  assert.equal(model.location.root.profile, 'pai'); // The root that contains the folder.
  await model.up();
  assert.deepEqual([paths(model), model.current], [['b', 'deep/'], 1]);
  await model.up();
  await model.up();
  assert.equal(model.location, null);
});

test('stays in the folder when another one cannot be opened', async () => {
  const [model] = await opened({ a: 1 });
  assert.equal(await model.open('oss://other/'), false);
  assert.equal(model.error?.message, 'There is nothing.');
  assert.deepEqual([model.location?.uri, paths(model)], [ROOT, ['a']]);
  await model.refresh();
  assert.equal(model.error, null);
});

test('loads pages on scrolling, and all of them to sort by size', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 25_000 }, (_, n) => [`f${String(n).padStart(5, '0')}`, (n * 7919) % 25_000])
  );
  const [model, engine] = await opened(many);
  assert.deepEqual([model.entries.length, model.hasMore], [500, true]);
  model.ensureLoaded(10);
  assert.equal(model.isLoading, false);
  model.ensureLoaded(450);
  assert.equal(model.isLoading, true);
  await new Promise(resolve => setImmediate(resolve));
  assert.equal(model.entries.length, 1000);
  await model.sort({ column: 'size', isDescending: true });
  assert.deepEqual([model.entries.length, model.hasMore, model.entries[0]?.bytes], [25_000, false, 24_999]);
  assert(engine.calls.length < 8);
  await model.sort({ column: 'name', isDescending: true });
  assert.equal(paths(model)[0], 'f24999');
});

const thousands = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${String(n).padStart(5, '0')}`, (n * 7919) % count]));

test('sorting, refreshing or leaving while all pages load starts no second load', async () => {
  for (const other of ['sort', 'refresh', 'leave'] as const) {
    const [model, engine] = await opened(thousands(25_000));
    engine.held = [];
    const pending: Promise<void>[] = [model.sort({ column: 'size', isDescending: false })];
    await settle();
    if (other === 'sort') {
      pending.push(model.sort({ column: 'size', isDescending: true }));
    } else if (other === 'refresh') {
      pending.push(model.refresh());
    } else {
      model.showRoots();
    }
    let requests = 0;
    for (; engine.held.length; requests++) {
      engine.held.shift()?.();
      await settle();
      assert(requests < 10, 'The loads never end.');
    }
    await Promise.all(pending);
    assert.deepEqual([model.entries.length, model.isLoading], [other === 'leave' ? 0 : 25_000, false]);
    assert.equal(model.entries[0]?.bytes, { sort: 24_999, refresh: 0, leave: undefined }[other]);
  }
});

test('a refresh or a sort does not undo the opening of a folder', async () => {
  for (const other of ['refresh', 'sort', 'two folders'] as const) {
    const [model, engine] = await opened({ a: 1, 'sub/b': 1, 'sub/c': 3, 'other/d': 1 });
    engine.held = [];
    const pending: Promise<unknown>[] = [model.open(`${ROOT}sub/`)];
    if (other === 'sort') {
      pending.push(model.sort({ column: 'size', isDescending: true }));
    } else {
      pending.push(model.refresh());
    }
    if (other === 'two folders') {
      pending.push(model.open(`${ROOT}other/`));
    }
    await settle();
    engine.files.set('sub/new', 2); // Added after the request for the folder.
    engine.files.set('other/new', 2);
    while (engine.held.length) {
      engine.held.shift()?.();
      await settle();
    }
    await Promise.all(pending);
    const expected = { refresh: ['b', 'c', 'new'], sort: ['c', 'new', 'b'], 'two folders': ['d', 'new'] }[other];
    assert.deepEqual([paths(model), model.isLoading], [expected, false]);
  }
});

test('keeps using the account of the open folder', async () => {
  const requests = (engine: Engine) =>
    engine.calls.filter(([verb]) => verb === 'list_data').map(([, { profile }]) => profile);
  const [model, engine] = await opened({ 'sub/a': 1 }, ['one', 'two']);
  await model.open(`${ROOT}sub/`); // Typed into the path field.
  assert.deepEqual([requests(engine), model.location?.root.profile], [['two', 'two'], 'two']);
  await model.refresh();
  await model.open('oss://bucket/elsewhere/');
  await model.open('file:///home/');
  assert.deepEqual(requests(engine).slice(2), ['two', 'two', '']);
  model.showRoots();
  await model.open(`${ROOT}sub/`); // No account is open: the first root that matches.
  assert.deepEqual([requests(engine).at(-1), model.location?.root.profile], ['one', 'one']);
});

test('selects, extends, toggles, and drops deleted entries', async () => {
  const [model, engine] = await opened({ a: 1, b: 1, c: 1, d: 1 });
  model.selectOnly(1);
  model.extendSelection(3);
  assert.deepEqual([...model.selected], ['b', 'c', 'd']);
  model.toggle(2);
  assert.deepEqual(
    model.selectedEntries.map(entry => entry.path),
    ['b', 'd']
  );
  engine.files.delete('b');
  await model.refresh();
  assert.deepEqual([[...model.selected], model.current], [['d'], 1]); // Still on c, whose index changed.
});

test('uploads in pieces that a proxy accepts, and retries lost ones', async () => {
  const [model, engine] = await opened({});
  engine.largest = 300_000;
  engine.losses = 1;
  const target = { uri: ROOT, profile: 'pai' };
  const file = new Blob([new Uint8Array(1_000_000)]);
  const transfer = await model.transfers.upload('x', target, [{ path: 'x', file }]);
  assert.deepEqual([transfer.state, transfer.done, transfer.files], ['done', 1_000_000, 1]);
  assert(Math.max(...engine.pieces) <= 300_000);
  assert.equal(
    engine.pieces.reduce((sum, size) => sum + size, 0),
    1_000_000
  );
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(paths(model), ['x']); // The folder was refreshed.
});

test('asks once about all existing files', async () => {
  const file = new Blob(['12']);
  const items = ['a.txt', 'b.txt', 'sub/c'].map(path => ({ path, file }));
  const outcomes = new Map<string, readonly string[]>();
  for (const answer of ['replace', 'keep', 'skip'] as const) {
    const [model, engine] = await opened({ 'a.txt': 9, 'a (2).txt': 9, 'sub/c': 9 });
    const transfer = await model.transfers.upload('x', { uri: ROOT, profile: '' }, items);
    assert.deepEqual([transfer.state, transfer.existing], ['asking', ['a.txt', 'sub/c']]);
    assert(engine.files.has('b.txt'));
    await model.transfers.resume(transfer, answer);
    assert.equal(transfer.state, 'done');
    outcomes.set(answer, [...engine.files].map(([name, size]) => `${name}:${size}`).sort());
  }
  assert.deepEqual(outcomes.get('skip'), ['a (2).txt:9', 'a.txt:9', 'b.txt:2', 'sub/c:9']);
  assert.deepEqual(outcomes.get('replace'), ['a (2).txt:9', 'a.txt:2', 'b.txt:2', 'sub/c:2']);
  const kept = ['a (2).txt:9', 'a (3).txt:2', 'a.txt:9', 'b.txt:2', 'sub/c (2):2', 'sub/c:9'];
  assert.deepEqual(outcomes.get('keep'), kept);
});

test('resumes a failed upload, and stops a canceled one', async () => {
  const [model, engine] = await opened({});
  engine.largest = 10;
  const items = Array.from({ length: 6 }, (_, n) => ({ path: `f${n}`, file: new Blob(['x'.repeat(20)]) }));
  const transfer = await model.transfers.upload('x', { uri: ROOT, profile: '' }, items);
  assert.deepEqual([transfer.state, transfer.canResume, transfer.done], ['failed', true, 0]);
  assert.match(transfer.error, /f\d: Request Entity Too Large/);
  engine.largest = Infinity;
  await model.transfers.resume(transfer);
  assert.deepEqual([transfer.state, engine.files.size, transfer.done], ['done', 6, 120]);

  const ended: Transfer[] = [];
  model.transfers.changed.connect(({ all: known }) => {
    const [newest] = known;
    if (newest?.state === 'running' && newest.done > 0 && !ended.includes(newest)) {
      ended.push(newest);
      newest.cancel();
    }
  });
  const large = { path: 'large', file: new Blob([new Uint8Array(3_000_000)]) };
  const stopped = await model.transfers.upload('y', { uri: ROOT, profile: '' }, [large]);
  assert.deepEqual([stopped.state, engine.files.has('large')], ['cancelled', false]);
  assert.equal(engine.calls.filter(([verb]) => verb === 'cancel_copy').length >= 1, true);
});

test('an upload fails after its running files end, and resumes with all unsent files', async () => {
  const [model, engine] = await opened({});
  let release = () => {};
  const gate = new Promise<void>(resolve => (release = resolve));
  engine.gates = new Map(['slow', 'late'].map(path => [path, gate]));
  engine.broken = new Set(['bad', 'late']);
  const items = ['bad', 'slow', 'late', 'last'].map(path => ({ path, file: new Blob(['x']) }));
  const pending = model.transfers.upload('x', { uri: ROOT, profile: '' }, items);
  const [transfer] = model.transfers.all;
  assert(transfer);
  await settle();
  assert.deepEqual([transfer.state, transfer.canResume, transfer.hasEnded], ['running', false, false]);
  assert.match(transfer.error, /^bad: The disk is full/); // The error is shown immediately.
  assert.equal(model.transfers.isUploading, true);
  release();
  await pending;
  assert.deepEqual([transfer.state, transfer.canResume, model.transfers.isUploading], ['failed', true, false]);
  engine.broken.clear();
  await model.transfers.resume(transfer);
  assert.deepEqual([transfer.state, transfer.error, transfer.files], ['done', '', 4]);
  assert.deepEqual([...engine.files.keys()].sort(), ['bad', 'last', 'late', 'slow']);
});

test('checks the upload when the response to its last piece is lost', async t => {
  t.after(fastForward());
  for (const atFirst of ['done', 'running']) {
    const [model, engine] = await opened({});
    engine.lostAnswers = 1;
    engine.atFirst = atFirst;
    engine.polls.push(new EngineError('no response'), atFirst);
    const transfer = await model.transfers.upload('x', { uri: ROOT, profile: '' }, [
      { path: 'x', file: new Blob(['x']) }
    ]);
    assert.deepEqual([transfer.state, transfer.error], ['done', '']);
    assert.equal(
      engine.calls.some(([verb]) => verb === 'cancel_copy'),
      false
    );
  }
  const [model, engine] = await opened({});
  engine.lostAnswers = 1;
  engine.polls.push('cancelled'); // Canceled by another user in between.
  const ended = await model.transfers.upload('x', { uri: ROOT, profile: '' }, [{ path: 'x', file: new Blob(['x']) }]);
  assert.equal(ended.state, 'failed');
});

test('follows a copy on the server through failed requests', async t => {
  const [model, engine] = await opened({});
  t.after(fastForward());
  const away = new EngineError('Service Unavailable', '', '', 503); // The response of a proxy.
  engine.polls.push(new EngineError('no response'), away, 'running', 'done');
  const states = new Set<string>();
  model.transfers.changed.connect(({ all: known }) => void states.add(`${known[0]?.state} ${known[0]?.error}`));
  const transfer = await model.transfers.start('x', () => engine.call('put_data'));
  assert.deepEqual([transfer.state, transfer.error, model.transfers.isUploading], ['done', '', false]);
  assert.deepEqual([...states].slice(-4), ['running ', 'running no response', 'running Service Unavailable', 'done ']);
  engine.polls.push(new EngineError('There is no copy.', 'Start it again.', 'NotFound', 404));
  const lost = await model.transfers.start('x', () => engine.call('put_data'));
  assert.deepEqual([lost.state, lost.error], ['failed', 'There is no copy. Start it again.']);
});

test('adds a number to the names of copies', () => {
  const names = ['a.txt', 'a', 'sub.d/a', '.hidden', 'x/.hidden.txt'].map(name => numberedName(name, 2));
  assert.deepEqual(names, ['a (2).txt', 'a (2)', 'sub.d/a (2)', '.hidden (2)', 'x/.hidden (2).txt']);
});
