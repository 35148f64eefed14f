import assert from 'node:assert/strict';
import { test } from 'node:test';

import { plainText } from '../../../labextension/lib/logs/text.js';
import { LogWindow, parsePage } from '../../../labextension/lib/logs/window.js';

const line = (text: string, bytes = 0, instance = '') => ({ text, bytes, instance });

const numbered = (n: number) => Array.from({ length: n }, (_, k) => `line ${k}`);

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
