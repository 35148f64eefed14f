import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withConfirmation } from '../../../labextension/lib/api/confirm.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';

/** A verb that costs something, and a user who answers so; what was called and asked. */
function paid(answer: boolean) {
  const calls: boolean[] = [];
  const asked: string[] = [];
  const call = (confirmed: boolean) => {
    calls.push(confirmed);
    return confirmed
      ? Promise.resolve('done')
      : Promise.reject(new EngineError('It runs on GPUs.', 'Use --yes.', 'Unconfirmed', 409));
  };
  const ask = (text: string) => {
    asked.push(text);
    return Promise.resolve(answer);
  };
  return { calls, asked, call, ask };
}

test('what costs money is asked about once, in the words of the engine', async () => {
  const { calls, asked, call, ask } = paid(true);
  assert.equal(await withConfirmation(call, ask), 'done');
  assert.deepEqual([calls, asked], [[false, true], ['It runs on GPUs.']]);
});

test('who does not want to pay gets nothing, and no trouble', async () => {
  const { calls, call, ask } = paid(false);
  assert.equal(await withConfirmation(call, ask), null);
  assert.deepEqual(calls, [false]);
});

test('what costs nothing is not asked about, and other troubles are no questions', async () => {
  const { asked, ask } = paid(true);
  assert.equal(await withConfirmation(() => Promise.resolve(1), ask), 1);
  const other = new EngineError('It has not ended.', '', 'Conflict', 409);
  await assert.rejects(
    withConfirmation(() => Promise.reject(other), ask),
    other
  );
  assert.deepEqual(asked, []);
});
