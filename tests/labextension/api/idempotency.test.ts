import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import { SubmitKey } from '../../../labextension/lib/api/idempotency.js';

test('keeps a key for the same request until the engine responds', async () => {
  const key = new SubmitKey();
  const keys: string[] = [];
  const submit = (request: string, error?: EngineError) =>
    key
      .use({ request }, once => {
        keys.push(once);
        return error ? Promise.reject(error) : Promise.resolve(once);
      })
      .catch(() => '');
  await submit('a', new EngineError('Bad Gateway', '', '', 502)); // From a proxy: the engine may still be working.
  await submit('a', new EngineError('no answer', '', 'ServerUnreachable', 503)); // From the kernel.
  await submit('a', new EngineError('refused', '', 'Refused', 400));
  assert.equal(new Set(keys.splice(0)).size, 1);
  await submit('a', new EngineError('no answer'));
  await submit('b', new EngineError('no answer'));
  await submit('b');
  await submit('b');
  const [a, b, again, other] = keys;
  assert.equal(b, again);
  assert.equal(new Set([a, b, other]).size, 3);
});
