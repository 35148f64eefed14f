import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Message, Topic } from '../../../labextension/lib/api/wire.js';
import { LogPager } from '../../../labextension/lib/logs/pager.js';
import { parseDestination, terminalText, plainText } from '../../../labextension/lib/logs/text.js';
import { LogWindow, parsePage } from '../../../labextension/lib/logs/window.js';

const line = (text: string, bytes = 0, instance = '') => ({ text, bytes, instance });

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

test('builds the same lines however the stream is split', () => {
  const text = 'a\n\n50%\r100%\nlast\r\nopen';
  for (let cut = 0; cut <= text.length; cut++) {
    const window = new LogWindow();
    window.push('w', text.slice(0, cut), cut, false);
    window.push('w', text.slice(cut), text.length, false);
    assert.deepEqual(window.lines.map(plainText), ['a', '', '100%', 'last', 'open']);
    assert.deepEqual([window.isOpen, window.total, window.ends.get('w')], [true, 5, text.length]);
  }
});

test('interleaves the lines of several instances whole', () => {
  const window = new LogWindow();
  window.push('w0', 'a', 1, true);
  window.push('w1', 'b\nc', 3, true);
  window.push('w0', 'aa\n', 4, true);
  window.finish('w1');
  assert.deepEqual(window.lines.map(plainText), ['w1 b', 'w0 aaa', 'w1 c']);
  assert.equal(window.isOpen, false);
});

test('limits the number and the length of lines', () => {
  const window = new LogWindow();
  window.push('w', '\n'.repeat(500_000), 500_000, false);
  assert.equal(window.total, 500_000);
  assert.ok(window.lines.length <= 3000);
  for (let k = 0; k < 100; k++) {
    window.push('w', 'x'.repeat(100_000), 0, false);
  }
  assert.equal(window.lines.at(-1)?.text.length, 4096);
  assert.equal(window.lines.at(-1)?.bytes, 10_000_000);
  window.push('w', '\rnew state', 0, false);
  assert.equal(plainText(window.lines.at(-1) ?? line('')), 'new state');
  for (let k = 0; k < 10_000; k++) {
    window.push('w', `\r${k}% |${'#'.repeat(k % 50)}`, 0, false);
  }
  assert.ok((window.lines.at(-1)?.text.length ?? 0) <= 4096 + 100);
  assert.equal(plainText(window.lines.at(-1) ?? line('')), `9999% |${'#'.repeat(49)}`);
  assert.equal(window.total, 500_001);
});

test('ignores pages that are not adjacent', () => {
  const page = (first: number, n: number) =>
    parsePage({ line: first, lines: 100, texts: numbered(100).slice(first, first + n), ends: {}, open: false });
  const window = new LogWindow();
  window.show(page(50, 10));
  window.append(page(70, 10));
  window.prepend(page(20, 10));
  assert.deepEqual([window.first, window.end], [50, 60]);
  window.append(page(60, 10));
  window.prepend(page(40, 10));
  assert.deepEqual([window.first, window.end], [40, 70]);
  window.show(parsePage(null));
  assert.deepEqual([window.first, window.end, window.total], [0, 0, 0]);
});

test('passes colors on, and removes all other escape sequences', () => {
  assert.equal(terminalText(line('a[pai] {"progress": 1}'), 80), 'a\x1b[2m[pai] {"progress": 1}\x1b[0m');
  assert.ok(terminalText(line('\x1b[1;31mred\x1b[0m'), 80).startsWith('\x1b[1;31mred\x1b[0m'));
  const harmful = [
    '\x1b]0;title\x07',
    '\x1b]8;;http://x\x1b\\',
    '\x1b]52;c;eA==\x07',
    '\x1b[c',
    '\x1b[6n',
    '\x1b[?1049h',
    '\x1b[2J',
    '\x1b[999;999H',
    '\x1b[5A',
    '\x1bP$qm\x1b\\',
    '\x1bc',
    '\x1b(0',
    '\x1b[?1000h',
    '\x1b[>c',
    '\x1b[18t'
  ];
  harmful.forEach(sequence =>
    assert.equal(terminalText(line(`a${sequence}b`), 80), 'ab\x1b[0m', JSON.stringify(sequence))
  );
  assert.equal(plainText(line('a\x9b5nb\x00\u202ec')), 'a\ufffd5nb\ufffd\ufffdc');
  assert.equal(terminalText(line('x'.repeat(3), 10_000_000), 80), 'xxx\x1b[0m \x1b[2m… [10.0 MB]\x1b[0m');
});

test('leaves only color and in-line cursor sequences for random input', () => {
  const pieces = ['\x1b', '[', ']', 'P', '0;', '5', 'n', 'm', '\x07', '\\', '\x9b', '?', ' ', 'K', '\r', 'x'];
  let seed = 7;
  const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 12 }, () => pieces[next(pieces.length)]).join('');
    const left = terminalText(line(text), 80).replace(/\x1b\[[0-9;:]*[mKCDG]/g, '');
    assert.ok(!/[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f]/.test(left), JSON.stringify([text, left]));
  }
});

test('redraws a progress bar that fits in one row, and shows only the last state of a longer one', () => {
  assert.equal(terminalText(line('\r10%\r20%\r'), 10), '10%\r20%\x1b[0m');
  assert.equal(terminalText(line(`\r${'#'.repeat(20)}\r${'#'.repeat(21)}`), 10), `${'#'.repeat(21)}\x1b[0m`);
});

test('parses line numbers and times to go to', () => {
  const started = new Date(2026, 10, 20, 23, 50, 0).getTime();
  const at = (...parts: [number, number, number, number, number]) => ({
    at: String(new Date(2026, ...parts).getTime() / 1000)
  });
  assert.deepEqual(parseDestination('1', null), { line: 0 });
  assert.deepEqual(parseDestination(' 1,000 ', null), { line: 999 });
  assert.deepEqual(parseDestination('23:55', started), at(10, 20, 23, 55, 0));
  assert.deepEqual(parseDestination('0:10:05', started), at(10, 21, 0, 10, 5));
  assert.deepEqual(parseDestination('2026-11-20T23:59:00', started), at(10, 20, 23, 59, 0));
  assert.equal(parseDestination('nowhere', started), null);
});
