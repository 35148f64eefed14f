import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Message, Topic } from '../../../labextension/lib/api/wire.js';
import { LogPager } from '../../../labextension/lib/logs/pager.js';
import type { LogWindow } from '../../../labextension/lib/logs/window.js';

/** An in-memory log with pages as the server returns them, and a stream that the test feeds. */
class Engine implements IEngine {
  readonly kind = 'server';
  readonly lines: string[];
  readonly requests: Parameters[] = [];
  readonly streams = new Map<Topic, (message: Message) => void>();

  constructor(lines: string[]) {
    this.lines = lines;
  }

  call(_verb: string, parameters: Parameters = {}): Promise<unknown> {
    this.requests.push(parameters);
    const { lines } = this;
    const n = Number(parameters['lines']);
    const before = Math.min(Number(parameters['before'] ?? 0), lines.length);
    const first = parameters['before'] === undefined ? Number(parameters['line']) : Math.max(before - n, 0);
    const end = parameters['before'] === undefined ? first + n : before;
    const texts = lines.slice(first, end);
    const page = { line: first, lines: lines.length, texts, long: {}, instances: [], ends: { w: 0 }, open: false };
    return Promise.resolve(page);
  }

  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    this.streams.set(topic, receive);
    signal.addEventListener('abort', () => this.streams.delete(topic));
  }

  url(): null {
    return null;
  }

  watch(): void {}
}

const numbered = (n: number) => Array.from({ length: n }, (_, k) => `line ${k}`);
const texts = (window: LogWindow) => window.lines.map(row => row.text);

test('pages through a long log and holds a bounded window', async () => {
  const engine = new Engine(numbered(1_000_000));
  const pager = new LogPager(engine, 'job', '', () => undefined);
  const { window } = pager;
  await pager.follow(false);
  assert.deepEqual([window.first, window.end, window.total, window.isAtEnd], [999_000, 1_000_000, 1_000_000, true]);
  for (let k = 0; k < 5; k++) {
    await pager.loadEarlier();
  }
  assert.equal(window.first, 994_000);
  assert.ok(window.lines.length <= 3000);
  assert.ok(window.lines.every((row, k) => row.text === `line ${window.first + k}`));
  await pager.show(500_000);
  assert.deepEqual([window.first, window.end], [499_500, 501_000]);
  for (let k = 0; k < 5; k++) {
    await pager.loadLater();
  }
  assert.equal(window.end, 506_000);
  assert.ok(window.lines.every((row, k) => row.text === `line ${window.first + k}`));
  await pager.show(0);
  assert.deepEqual([window.first, window.end], [0, 1000]);
  const { length } = engine.requests;
  await pager.show(500);
  await pager.loadEarlier();
  assert.equal(engine.requests.length, length); // The line is in the window.
});

test('subscribes to the stream while following, and unsubscribes when paused', async () => {
  const engine = new Engine(numbered(10));
  const pager = new LogPager(engine, 'job', '', () => undefined);
  await pager.follow(true);
  const [receive] = engine.streams.values();
  receive?.({ id: 1, type: 'log', offset: 0, end: 9, text: 'new\nop' });
  receive?.({ id: 1, type: 'log', offset: 9, end: 13, text: 'en\n' });
  assert.deepEqual(texts(pager.window).slice(-3), ['line 9', 'new', 'open']);
  assert.equal(pager.window.total, 12);
  pager.pause(false);
  assert.deepEqual([engine.streams.size, pager.isFollowing], [0, false]);
  await pager.follow(true);
  assert.equal(engine.streams.size, 1);
  pager.stop();
  assert.equal(engine.streams.size, 0);
});

test('refetches the end of a log that grows faster than it is shown', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const engine = new Engine(numbered(10));
  const pager = new LogPager(engine, 'job', '', () => undefined);
  await pager.follow(true);
  const [receive] = engine.streams.values();
  engine.lines.push(...numbered(100_000));
  receive?.({ id: 1, type: 'log', offset: 5000, end: 5009, text: 'far away\n' });
  assert.deepEqual([engine.streams.size, pager.isFollowing, pager.window.total], [0, true, 10]);
  t.mock.timers.tick(1000);
  await new Promise(setImmediate);
  assert.deepEqual([texts(pager.window).at(-1), pager.window.isAtEnd], ['line 99999', true]);
  const [again] = engine.streams.values();
  again?.({ id: 2, type: 'log', offset: 0, end: 4, text: 'new\n' });
  assert.deepEqual([texts(pager.window).at(-1), pager.window.total], ['new', 100_011]);
  again?.({ id: 2, type: 'log', offset: 5000, end: 5009, text: 'far away\n' });
  pager.pause(false);
  t.mock.timers.tick(1000);
  await new Promise(setImmediate);
  assert.equal(engine.streams.size, 0); // The reader has paused.
});
