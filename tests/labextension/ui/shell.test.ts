import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shellLine } from '../../../labextension/lib/ui/shell.js';

test('shows arguments as a line that a shell splits into them', () => {
  assert.equal(shellLine(['--lr', '0.5', 'a b', "it's", '', '+x=y']), "--lr 0.5 'a b' 'it'\\''s' '' +x=y");
  assert.equal(shellLine("--lr 'a b"), "--lr 'a b"); // As it is typed.
  assert.equal(shellLine(undefined), '');
});
