import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EngineError, errorMessageOf } from '../../../labextension/lib/api/engine.js';
import { commonError, isCovered, isCredentialsError } from '../../../labextension/lib/platforms/problems.js';

const expired = errorMessageOf(new EngineError('expired', 'Log in.', 'CredentialsError', 400));
const revoked = errorMessageOf(new EngineError('revoked', '', 'CredentialsError', 400));
const down = errorMessageOf(new EngineError('no answer', 'Wait.', 'Unreachable', 503));
const downAgain = errorMessageOf(new EngineError('no answer', 'Wait.', 'Unreachable', 503));
const refused = errorMessageOf(new EngineError('no quotas', '', 'PermissionDenied', 400));

test('an error of one part stays there', () => {
  assert.deepEqual(
    [commonError([null, refused, null]), commonError([]), commonError([refused, down])],
    [null, null, null]
  );
  assert.equal(isCovered(refused, null), false);
});

test('an error of the login, or of several parts, is one of the platform', () => {
  assert.equal(commonError([refused, expired]), expired);
  assert.equal(commonError([down, null, refused, downAgain])?.message, 'no answer');
  assert.ok(isCredentialsError(expired) && !isCredentialsError(down));
});

test('a part repeats no error of the platform', () => {
  assert.ok(isCovered(revoked, expired));
  assert.ok(isCovered(downAgain, down));
  assert.ok(!isCovered(refused, expired));
  assert.ok(!isCovered(expired, down));
});
