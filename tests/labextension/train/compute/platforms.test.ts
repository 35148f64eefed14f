import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parsePlatforms, profileOf } from '../../../../labextension/lib/train/compute/platforms.js';

test('selects the profile that the engine would select', () => {
  const profile = (name: string, backend: string) => ({ name, refused: '', settings: { backend } });
  const profiles = [profile('big', 'pai'), profile('local', 'local'), profile('pai', 'pai')];
  const platforms = parsePlatforms(null, { default: 'big', profiles });
  assert.equal(profileOf(platforms, '', '')?.name, 'big');
  assert.equal(profileOf(platforms, '', 'local')?.name, 'local');
  assert.equal(profileOf(platforms, 'pai', 'local')?.name, 'pai');
  assert.equal(profileOf({ ...platforms, default: 'local' }, '', 'pai')?.name, 'pai');
  assert.equal(profileOf(platforms, '', 'none'), undefined);
});
