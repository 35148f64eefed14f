import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IEngine } from '../../../labextension/lib/api/engine.js';
import { choices, parseImages, filterImages } from '../../../labextension/lib/train/compute/images.js';
import {
  gibibytes,
  filterTypes,
  parseInstances,
  sortTypes
} from '../../../labextension/lib/train/compute/instancetypes.js';
import {
  appendRow,
  channelErrors,
  channelsOf,
  suggestedNames,
  rowsOf,
  variableOf
} from '../../../labextension/lib/ui/fields/channelrows.js';
import { parseField, textOf } from '../../../labextension/lib/ui/fields/fieldtext.js';
import type { IField } from '../../../labextension/lib/ui/fields/schemafields.js';
import {
  withValue,
  errorAt,
  errorsBelow,
  fieldsOf,
  trimmed
} from '../../../labextension/lib/ui/fields/schemafields.js';
import {
  rootCompletions,
  commonPrefix,
  folderOf,
  folderCompletions
} from '../../../labextension/lib/ui/fields/uricompletion.js';

// Returns each text untranslated, with its parameters filled in.
const trans = {
  __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n: string) => String(values[Number(n) - 1]))
} as TranslationBundle;

// A schema as pydantic 2 generates it.
const SCHEMA = {
  $defs: {
    Spot: {
      description: 'Machines that are cheaper.',
      properties: {
        strategy: { default: 'Go', enum: ['Limit', 'Go'], title: 'Strategy', type: 'string' },
        limit: { anyOf: [{ exclusiveMinimum: 0, maximum: 1, type: 'number' }, { type: 'null' }], default: null }
      },
      title: 'Spot',
      type: 'object'
    },
    Tree: { properties: { child: { anyOf: [{ $ref: '#/$defs/Tree' }, { type: 'null' }] } }, type: 'object' }
  },
  properties: {
    oss_bucket_name: { default: '', description: 'The bucket.', title: 'Oss Bucket Name', type: 'string' },
    count: { default: 1, minimum: 1, maximum: 10, title: 'How many', type: 'integer' },
    price: { anyOf: [{ minimum: 0, type: 'number' }, { type: 'null' }], default: null, title: 'Price' },
    key: { format: 'password', title: 'Key', type: 'string', writeOnly: true },
    network: { default: '', enum: ['', 'public', 'vpc'], title: 'Network', type: 'string' },
    kind: { const: 'a', title: 'Kind' },
    tty: { default: false, title: 'Tty', type: 'boolean' },
    maybe: { anyOf: [{ type: 'boolean' }, { type: 'null' }], default: null },
    nodes: { default: [], items: { type: 'string' }, type: 'array' },
    pairs: { items: { type: 'integer' }, type: 'array' },
    roles: { additionalProperties: { type: 'string' }, default: {}, type: 'object' },
    settings: { additionalProperties: true, default: {}, type: 'object' },
    spot: { anyOf: [{ $ref: '#/$defs/Spot' }, { type: 'null' }], default: null },
    progress: { $ref: '#/$defs/Spot', default: { strategy: 'Go' } },
    either: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    tree: { $ref: '#/$defs/Tree' },
    memory: { pattern: '^(\\d+GiB)?$', maxLength: 8, type: 'string' }
  },
  required: ['key'],
  type: 'object'
};

const FIELDS = new Map(fieldsOf(SCHEMA).map(field => [field.name, field]));

function field(name: string): IField {
  const match = FIELDS.get(name);
  assert.ok(match);
  return match;
}

const value = (name: string, text: string) => parseField(field(name), text, trans).value;
const error = (name: string, text: string) => parseField(field(name), text, trans).error;

test('derives the kind of a field from its schema', () => {
  const kinds = Object.fromEntries([...FIELDS].map(([name, { kind }]) => [name, kind]));
  assert.deepEqual(kinds, {
    oss_bucket_name: 'text',
    count: 'integer',
    price: 'number',
    key: 'secret',
    network: 'choice',
    kind: 'choice',
    tty: 'boolean',
    maybe: 'choice',
    nodes: 'list',
    pairs: 'json',
    roles: 'map',
    settings: 'json',
    spot: 'object',
    progress: 'object',
    either: 'text',
    tree: 'object',
    memory: 'text'
  });
  assert.deepEqual(
    fieldsOf(SCHEMA, ['count']).find(field => field.name === 'count'),
    undefined
  );
});

test('takes title, description, default and choices from the schema', () => {
  assert.equal(field('oss_bucket_name').title, 'OSS bucket name');
  assert.equal(field('count').title, 'How many');
  assert.equal(field('oss_bucket_name').description, 'The bucket.');
  assert.deepEqual([field('count').start, field('price').start], [1, undefined]);
  assert.deepEqual(field('network').choices, ['public', 'vpc']);
  assert.deepEqual(field('maybe').choices, [true, false]);
  assert.deepEqual([field('key').isRequired, field('count').isRequired], [true, false]);
});

test('an object becomes a group of fields, optional if it is nullable', () => {
  assert.deepEqual(
    field('spot').fields.map(({ name, kind }) => [name, kind]),
    [
      ['strategy', 'choice'],
      ['limit', 'number']
    ]
  );
  assert.equal(field('spot').description, 'Machines that are cheaper.');
  assert.deepEqual([field('spot').isOptional, field('progress').isOptional], [true, false]);
  assert.deepEqual([trimmed(field('spot'), {}), trimmed(field('progress'), {})], [{}, undefined]);
});

test('limits the depth of a recursive schema', () => {
  const depth = (one: IField | undefined): number => (one ? 1 + depth(one.fields[0]) : 0);
  assert.ok(depth(field('tree')) < 10);
});

test('parses text by the kind of its field, and empty text as undefined', () => {
  assert.equal(value('count', ' 3 '), 3);
  assert.equal(value('price', '1.50'), 1.5);
  assert.equal(value('price', '1e-3'), 0.001);
  assert.equal(value('maybe', 'false'), false);
  assert.deepEqual(value('nodes', 'a\n\n b '), ['a', 'b']);
  assert.deepEqual(value('roles', 'train=acs:ram::1:role/a=b\n x = '), { train: 'acs:ram::1:role/a=b', x: '' });
  assert.deepEqual(value('settings', '{"a": [1]}'), { a: [1] });
  for (const name of FIELDS.keys()) {
    assert.deepEqual(parseField(field(name), ' ', trans), { value: undefined, error: '' });
  }
});

test('keeps invalid text as typed', () => {
  for (const [name, typed] of [
    ['count', '1e'],
    ['count', '1.5'],
    ['count', '0x10'],
    ['price', '-'],
    ['price', '1e999'],
    ['roles', 'train'],
    ['settings', '{"a"'],
    ['nodes', '["a"']
  ] as const) {
    assert.equal(value(name, typed), typed);
    assert.notEqual(error(name, typed), '', `${name}: ${typed}`);
    assert.equal(textOf(field(name), typed), typed);
  }
});

test("reports violations of the schema's limits", () => {
  assert.equal(error('count', '0'), 'Must be at least 1.');
  assert.equal(error('count', '11'), 'Must be at most 10.');
  const limit = field('spot').fields[1];
  assert.ok(limit);
  assert.equal(parseField(limit, '0', trans).error, 'Must be greater than 0.');
  assert.equal(error('memory', '4 GB'), 'Invalid format.');
  assert.equal(error('memory', '123456GiB'), 'Too long: 9 characters, at most 8 allowed.');
  assert.equal(error('memory', '4GiB'), '');
});

test('a value survives formatting and parsing', () => {
  for (const [name, original] of [
    ['nodes', ['a', 'b c']],
    ['nodes', ['a\nb', '']],
    ['nodes', ['[x', 'y']],
    ['roles', { a: 'b', c: '' }],
    ['roles', { 'a=b': 'c' }],
    ['roles', { '{a': 'c' }],
    ['roles', { a: 'b\nc', d: ' ' }],
    ['settings', { a: { b: null } }],
    ['count', 3]
  ] as const) {
    const text = textOf(field(name), original);
    assert.deepEqual(value(name, text), original, text);
  }
});

test('omits an empty field from the value', () => {
  assert.deepEqual(withValue({ a: 1, b: 2 }, 'a', undefined), { b: 2 });
  assert.deepEqual(withValue({ b: 2 }, 'a', 0), { b: 2, a: 0 });
});

test('assigns engine errors to the field or to its parts', () => {
  const errors = new Map([
    ['spot', 'one of both'],
    ['spot.limit', 'too high'],
    ['spot.other', 'not known'],
    ['roles.train', 'no role'],
    ['nodes[0]', 'no node']
  ]);
  assert.equal(errorAt(field('spot'), errors), 'one of both not known');
  assert.deepEqual([...errorsBelow('spot', errors)].slice(0, 1), [['limit', 'too high']]);
  assert.equal(errorAt(field('roles'), errors), 'no role');
  assert.equal(errorAt(field('nodes'), errors), 'no node');
  assert.equal(errorAt(field('count'), errors), '');
});

const TYPES = parseInstances({
  instances: [
    { name: 'ecs.g10.large', cpu: 2, memory: 8 * 2 ** 30, price: 3, available: false },
    { name: 'ecs.g9.large', cpu: 4, memory: 2 ** 30, price: null, available: true },
    { name: 'ecs.gn6v', cpu: 8, memory: 32 * 2 ** 30, gpu: 1, gpu_name: 'V100', gpu_memory: 2 ** 34, price: 2 }
  ],
  quotas: [{ id: 'q', cpu: 8, free_cpu: 3 }],
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
  assert.equal(gibibytes(7.5 * 2 ** 30), '7.5');
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

test('completes in the folder before the last slash', () => {
  assert.deepEqual(folderOf('oss://b/data/tr', ''), { uri: 'oss://b/data/', prefix: 'oss://b/data/' });
  assert.equal(folderOf('oss://b', ''), null);
  assert.equal(folderOf('oss:', ''), null);
  assert.equal(folderOf('dataset://d-1/', '/home'), null);
  assert.deepEqual(folderOf('/a b/c', ''), { uri: 'file:///a%20b/', prefix: '/a b/' });
  assert.deepEqual(folderOf('data/x', '/home/me/'), { uri: 'file:///home/me/data/', prefix: 'data/' });
  assert.deepEqual(folderOf('', '/home/me'), { uri: 'file:///home/me/', prefix: '' });
  assert.equal(folderOf('data/x', ''), null);
});

/** Storages with the given roots, whose folders all hold `names` and list at most `most` of them per request. */
function storage(names: readonly string[], most = 1000, roots: readonly object[] = []): IEngine['call'] {
  return (verb, parameters = {}) => {
    const left = names.filter(name => name > String(parameters['after'] ?? ''));
    const entries = left.slice(0, most).map(path => ({ path }));
    return Promise.resolve(verb === 'storages' ? { storages: roots } : { entries, more: left.length > most });
  };
}

test('suggests entries of the folder, and roots of the storages', async () => {
  const call = storage(['.git/', 'test/', 'train/', 'train.csv'], 1000, [
    { uri: 'oss://b/', scheme: 'oss', profile: 'mine' },
    { uri: 'oss://b/', scheme: 'oss', profile: 'mine' },
    { uri: 'oss://other/', scheme: 'oss', profile: 'other' },
    { uri: '', scheme: 'oss', profile: 'mine', problem: 'no answer' },
    { uri: 'file:///home/', scheme: 'file', profile: '' }
  ]);
  const texts = (options: readonly { text: string }[]) => options.map(option => option.text);
  const names = async (text: string) => texts(await folderCompletions(call, text, '/home', ''));
  assert.deepEqual(await names('oss://b/tr'), ['oss://b/train/', 'oss://b/train.csv']);
  assert.deepEqual(await names('oss://b/'), ['oss://b/test/', 'oss://b/train/', 'oss://b/train.csv']);
  assert.deepEqual(await names(''), ['test/', 'train/', 'train.csv']);
  assert.deepEqual(await names('.g'), ['.git/']);
  assert.deepEqual(await names('train.csv'), []);
  assert.deepEqual(await names('oss://b'), []);
  const roots = async (text: string, profile: string) => texts(await rootCompletions(call, text, profile));
  for (const prefix of ['', 'os', 'oss:', 'oss:/', 'oss://', 'oss://b']) {
    assert.deepEqual(await roots(prefix, 'mine'), ['oss://b/'], prefix);
  }
  assert.deepEqual(await roots('os', ''), ['oss://b/', 'oss://other/']);
  assert.deepEqual([await roots('oss://b/', ''), await roots('data/', ''), await roots('/', '')], [[], [], []]);
  assert.equal(commonPrefix(await folderCompletions(call, 'oss://b/t', '', '')), 'oss://b/t');
  assert.equal(commonPrefix(await folderCompletions(call, 'oss://b/tr', '', '')), 'oss://b/train');
});

test('requests only entries after the typed prefix where the folder has several pages', async () => {
  const call = storage(['a', 'b', 'c', 'train'], 2);
  assert.deepEqual(
    (await folderCompletions(call, '/d/tr', '', '')).map(option => option.text),
    ['/d/train']
  );
});

test('channels are the rows with a name, and rows keep the typed text', () => {
  let rows = appendRow(appendRow(rowsOf({ train: 'oss://b/' }, []), '', 'half'), ' new ', ' x ');
  assert.deepEqual(channelsOf(rows), { train: 'oss://b/', new: 'x' });
  assert.deepEqual(rowsOf(channelsOf(rows), rows), rows);
  rows = rowsOf({ new: 'y', more: 'z' }, rows);
  assert.deepEqual(
    rows.map(({ name, value: uri }) => [name, uri]),
    [
      ['', 'half'],
      [' new ', 'y'],
      ['more', 'z']
    ]
  );
  assert.equal(new Set(rows.map(row => row.key)).size, 3);
});

test('assigns an error to the row of its channel', () => {
  const rows = appendRow(appendRow(appendRow(appendRow([], 'a', '1'), 'a', '2'), '', '3'), 'b', '4');
  const errors = channelErrors(rows, new Map([['b', 'not there']]), trans);
  assert.deepEqual(
    [...errors],
    [
      [0, 'Duplicate name.'],
      [1, 'Duplicate name.'],
      [2, 'Name is required.'],
      [3, 'not there']
    ]
  );
  assert.deepEqual(channelsOf(rows), { a: '1', b: '4' });
});

test('suggests reserved channel names, and derives the environment variable of a channel', () => {
  assert.deepEqual(suggestedNames('outputs', appendRow([], 'model')), ['checkpoints', 'tensorboard']);
  assert.equal(variableOf('inputs', 'my-data'), 'PAI_INPUT_MY_DATA');
  assert.equal(variableOf('outputs', '数据'), '');
});
