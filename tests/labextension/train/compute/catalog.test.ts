import assert from 'node:assert/strict';
import { test } from 'node:test';

import { choices, parseImages, filterImages } from '../../../../labextension/lib/train/compute/images.js';
import {
  gibibytes,
  filterTypes,
  parseInstances,
  sortTypes
} from '../../../../labextension/lib/train/compute/instancetypes.js';

const TYPES = parseInstances({
  instances: [
    { name: 'ecs.g10.large', cpu: 2, memory: 8 * 2 ** 30, price: { amount: 3, currency: 'CNY' }, available: false },
    { name: 'ecs.g9.large', cpu: 4, memory: 2 ** 30, price: null, available: true },
    {
      name: 'ecs.gn6v',
      cpu: 8,
      memory: 32 * 2 ** 30,
      gpu: 1,
      gpu_name: 'V100',
      gpu_memory: 2 ** 34,
      price: { amount: 2, currency: 'CNY' }
    }
  ],
  quotas: [{ id: 'q', cpu: 8, free_cpu: 3, users: [{ name: 'ada', running: 2 }] }],
  left_out: 2
});

test('sorts instance types with favorites first and unknown values last', () => {
  const names = (column: 'price' | 'name' | 'available', isDescending: boolean, favorites: string[] = []) =>
    sortTypes(TYPES.types, { column, isDescending }, new Set(favorites)).map(type => type.name.replace('ecs.', ''));
  assert.deepEqual(names('price', false), ['gn6v', 'g10.large', 'g9.large']);
  assert.deepEqual(names('price', true), ['g10.large', 'gn6v', 'g9.large']);
  assert.deepEqual(names('price', true, ['ecs.g9.large']), ['g9.large', 'g10.large', 'gn6v']);
  assert.deepEqual(names('name', false), ['g9.large', 'g10.large', 'gn6v']);
  assert.deepEqual(names('available', false), ['g9.large', 'g10.large', 'gn6v']);
  assert.deepEqual([TYPES.hiddenCount, TYPES.quotas[0]?.freeCpu], [2, 3]);
  assert.deepEqual(TYPES.quotas[0]?.users, [{ name: 'ada', running: 2, waiting: 0 }]);
  assert.equal(gibibytes(7.5 * 2 ** 30), '7.5');
});

test('compares prices within their currency', () => {
  const price = (name: string, amount: number, currency: string) => ({ name, price: { amount, currency } });
  const { types } = parseInstances({
    instances: [price('b', 9, 'CNY'), price('c', 1, 'USD'), price('a', 10, 'CNY'), { name: 'd', price: { amount: 1 } }]
  });
  const names = (isDescending: boolean) =>
    sortTypes(types, { column: 'price', isDescending }, new Set()).map(type => type.name);
  assert.deepEqual(names(false), ['b', 'a', 'c', 'd']);
  assert.deepEqual(names(true), ['a', 'b', 'c', 'd']);
});

test('filters instance types by words of the name and the GPU', () => {
  assert.deepEqual(
    filterTypes(TYPES.types, ' v100 ECS').map(type => type.name),
    ['ecs.gn6v']
  );
  assert.equal(filterTypes(TYPES.types, '').length, 3);
});

test('filters images by framework, version, accelerator and words', () => {
  const { images } = parseImages({
    images: [
      { uri: 'r/pytorch:1.12-gpu', name: 'pytorch', framework: 'PyTorch', version: '1.12', accelerator: 'GPU' },
      { uri: 'r/pytorch:1.1-cpu', name: 'pytorch', framework: 'PyTorch', version: '1.1.0', accelerator: 'CPU' },
      { uri: 'r/xgb', name: 'xgboost', framework: 'XGBoost', version: '1.6' },
      { name: 'no URI' }
    ]
  });
  const matching = (change: object) =>
    filterImages(images, { text: '', framework: '', version: '', accelerator: '', ...change }).map(image => image.uri);
  assert.equal(matching({}).length, 3);
  assert.deepEqual(matching({ framework: 'PyTorch', accelerator: 'GPU' }), ['r/pytorch:1.12-gpu']);
  assert.deepEqual(matching({ version: '1.1' }), ['r/pytorch:1.1-cpu']);
  assert.deepEqual(matching({ text: 'XGB 1.6' }), ['r/xgb']);
  assert.deepEqual(
    choices(images, image => image.accelerator),
    ['CPU', 'GPU']
  );
});
