import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LogTailBuffer } from '../../../labextension/lib/job/logtail.js';

function tail(lines: number, ...pieces: string[]): string {
  const kept = new LogTailBuffer(lines);
  pieces.forEach(piece => kept.push(piece));
  return kept.toString();
}

test('keeps the last lines, however the text is split', () => {
  assert.equal(tail(2, 'a\nb\nc\n'), 'b\nc');
  assert.equal(tail(2, 'a\nb', 'b\nc', 'c'), 'bb\ncc');
  assert.equal(tail(3, 'a', '\n', 'b'), 'a\nb');
  assert.equal(tail(3), '');
});

test('shows the last state of a progress bar', () => {
  assert.equal(tail(3, '\r10%\r 50%', '\r100%\ndone\n'), '100%\ndone');
  assert.equal(tail(3, 'a\r\nb\r\r\n'), 'a\nb');
  assert.equal(tail(3, 'a\r', 'b\r', '\n'), 'b');
});

test('shows the last state of a progress bar with thousands of updates, however they are split', () => {
  const drawn = Array.from({ length: 5_000 }, (_, n) => `\r${n + 1}/5000 |${'#'.repeat(n % 40)}|`).join('') + '\n';
  assert.equal(tail(3, drawn), `5000/5000 |${'#'.repeat(39)}|`);
  const pieces = drawn.match(/[^]{1,777}/g) ?? [];
  assert.equal(tail(3, ...pieces), tail(3, drawn));
  assert.equal(tail(3, '\r'.repeat(300_000), 'x\n'), 'x');
});

test('removes colors and control codes', () => {
  assert.equal(tail(3, '\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\n'), 'red \ufffd');
});

test('hides the lines that `report` writes', () => {
  assert.equal(tail(3, 'a\n[pai] {"metric": "x", "value": 1}\nb\n[pai] {"progress": 1}'), 'a\nb');
  assert.equal(tail(3, 'a\r\n[pai] {"progress": 1}\r\nb\r\n'), 'a\nb');
});

test('continues a progress bar that a report interrupts', () => {
  const report = '[pai] {"metric": "x", "value": 1}\n';
  assert.equal(tail(3, `a\n\r10%${report}`, `\r20%${report}\r`, `30%${report.slice(0, -1)}`), 'a\n30%');
  assert.equal(tail(3, `a\n\r10%${report}`, `\r20%${report}\nb\n`), 'a\n20%\nb');
  assert.equal(tail(3, '[pai] {no report\n'), '[pai] {no report');
});

test('limits the length of an unterminated line', () => {
  const kept = new LogTailBuffer(2);
  for (let i = 0; i < 100; i++) {
    kept.push('x'.repeat(10_000));
  }
  assert.equal(kept.toString(), 'x'.repeat(2_000));
  kept.push('\rnew');
  assert.equal(kept.toString(), 'new');
  kept.push(`\n${'y'.repeat(10_000_000)}\nend\n`);
  assert.equal(kept.toString(), `${'y'.repeat(2_000)}\nend`);
});

test('the output stays short and free of control characters for random input', () => {
  const bytes = Array.from({ length: 256 }, (_, n) => String.fromCharCode(n)).join('');
  const pieces = [
    '\x1b',
    '[',
    ']0;',
    '\x1b[38;5;',
    '\r',
    '\n',
    '\ufffd',
    '\ud83d',
    '\ude00',
    '\u202e',
    '\u2028',
    bytes
  ];
  let seed = 1;
  const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  for (let round = 0; round < 300; round++) {
    const kept = new LogTailBuffer(5);
    for (let i = 0; i < 30; i++) {
      kept.push((pieces[next(pieces.length)] ?? '').repeat(1 + next(3) ** 6));
      const shown = kept.toString().split('\n');
      assert.ok(shown.length <= 5 && shown.every(row => row.length <= 2_000));
      assert.ok(shown.every(row => !/[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(row)));
    }
  }
});

test('an unterminated escape sequence hides the rest of its line only', () => {
  assert.equal(tail(3, 'a\n\x1b]0;never', ' ends\nb\n'), 'a\n\nb');
});
