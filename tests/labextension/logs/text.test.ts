import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseDestination, terminalText, plainText } from '../../../labextension/lib/logs/text.js';

const line = (text: string, bytes = 0, instance = '') => ({ text, bytes, instance });

test('shows the records of a job in words', () => {
  assert.equal(terminalText(line('a[pai] {"progress": 1}'), 80), 'a\x1b[2mprogress = 1\x1b[0m');
  const words = (text: string) => plainText(line(text));
  assert.equal(words('[pai] {"metric": "loss", "value": NaN, "step": 3}'), 'loss = NaN, step = 3');
  assert.equal(words('[pai] {"output_parameter": "best", "value": "a\\nb"}'), 'best = a\ufffdb');
  assert.equal(words('5%|#\r6%|## [pai] {"exit_code": 0}'), '6%|## exit_code = 0');
  assert.equal(words('[pai] {no record}'), '[pai] {no record}');
});

test('passes colors on, and removes all other escape sequences', () => {
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
