import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Tail } from '../../labextension/lib/tail.js';

function tail(lines: number, ...pieces: string[]): string {
  const kept = new Tail(lines);
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
  assert.equal(tail(3, 'a\r\nb\r\n'), 'a\nb');
});

test('colours and control codes are not shown', () => {
  assert.equal(tail(3, '\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\n'), 'red \ufffd');
});

test('what report writes has places of its own', () => {
  assert.equal(tail(3, 'a\n[pai] {"metric": "x", "value": 1}\nb\n[pai] {"progress": 1}'), 'a\nb');
});

test('a line without an end does not grow for ever', () => {
  const kept = new Tail(2);
  for (let i = 0; i < 100; i++) {
    kept.push('x'.repeat(10_000));
  }
  assert.ok(kept.toString().length <= 2_000);
});
