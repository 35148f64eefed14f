import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LogTailBuffer } from '../../../labextension/lib/job/logtail.js';

function tail(lines: number, ...pieces: string[]): string {
  const kept = new LogTailBuffer(lines);
  pieces.forEach(piece => kept.push(piece));
  return kept.toString();
}

test('the last lines are kept, however they come', () => {
  assert.equal(tail(2, 'a\nb\nc\n'), 'b\nc');
  assert.equal(tail(2, 'a\nb', 'b\nc', 'c'), 'bb\ncc');
  assert.equal(tail(3, 'a', '\n', 'b'), 'a\nb');
  assert.equal(tail(3), '');
});

test('progress bars show their last state', () => {
  assert.equal(tail(3, '\r10%\r 50%', '\r100%\ndone\n'), '100%\ndone');
  assert.equal(tail(3, 'a\r\nb\r\r\n'), 'a\nb');
  assert.equal(tail(3, 'a\r', 'b\r', '\n'), 'b');
});

test('a bar that was drawn many times shows its last state, in whatever pieces it comes', () => {
  const drawn = Array.from({ length: 5_000 }, (_, n) => `\r${n + 1}/5000 |${'#'.repeat(n % 40)}|`).join('') + '\n';
  assert.equal(tail(3, drawn), `5000/5000 |${'#'.repeat(39)}|`);
  const pieces = drawn.match(/[^]{1,777}/g) ?? [];
  assert.equal(tail(3, ...pieces), tail(3, drawn));
  assert.equal(tail(3, '\r'.repeat(300_000), 'x\n'), 'x');
});

test('colors and control codes are not shown', () => {
  assert.equal(tail(3, '\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\n'), 'red \ufffd');
});

test('what report writes has places of its own', () => {
  assert.equal(tail(3, 'a\n[pai] {"metric": "x", "value": 1}\nb\n[pai] {"progress": 1}'), 'a\nb');
  assert.equal(tail(3, 'a\r\n[pai] {"progress": 1}\r\nb\r\n'), 'a\nb');
});

test('a report may come while a progress bar is drawn: the bar goes on', () => {
  const report = '[pai] {"metric": "x", "value": 1}\n';
  assert.equal(tail(3, `a\n\r10%${report}`, `\r20%${report}\r`, `30%${report.slice(0, -1)}`), 'a\n30%');
  assert.equal(tail(3, `a\n\r10%${report}`, `\r20%${report}\nb\n`), 'a\n20%\nb');
  assert.equal(tail(3, '[pai] {no report\n'), '[pai] {no report');
});

test('a line without an end does not grow for ever', () => {
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

test('whatever bytes a job prints, what is shown is short and has no control characters', () => {
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

test('an escape sequence without an end takes its own line along, and no other', () => {
  assert.equal(tail(3, 'a\n\x1b]0;never', ' ends\nb\n'), 'a\n\nb');
});
