import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withConfirmation } from '../../../labextension/lib/api/confirm.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';

/** A call that needs confirmation and a user with a fixed answer, with records of both. */
function paidCall(answer: boolean) {
  const calls: boolean[] = [];
  const questions: string[] = [];
  const call = (confirmed: boolean) => {
    calls.push(confirmed);
    return confirmed
      ? Promise.resolve('done')
      : Promise.reject(new EngineError('It runs on GPUs.', 'Use --yes.', 'Unconfirmed', 409));
  };
  const ask = (text: string) => {
    questions.push(text);
    return Promise.resolve(answer);
  };
  return { calls, questions, call, ask };
}

test('asks once for confirmation of costs, with the message of the engine', async () => {
  const { calls, questions, call, ask } = paidCall(true);
  assert.equal(await withConfirmation(call, ask), 'done');
  assert.deepEqual([calls, questions], [[false, true], ['It runs on GPUs.']]);
});

test('returns null without an error if the user declines', async () => {
  const { calls, call, ask } = paidCall(false);
  assert.equal(await withConfirmation(call, ask), null);
  assert.deepEqual(calls, [false]);
});

test('does not ask for free calls, and passes other errors on', async () => {
  const { questions, ask } = paidCall(true);
  assert.equal(await withConfirmation(() => Promise.resolve(1), ask), 1);
  const conflict = new EngineError('It has not ended.', '', 'Conflict', 409);
  await assert.rejects(
    withConfirmation(() => Promise.reject(conflict), ask),
    conflict
  );
  assert.deepEqual(questions, []);
});
