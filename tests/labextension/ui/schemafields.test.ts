import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TranslationBundle } from '@jupyterlab/translation';
import { parseField, textOf } from '../../../labextension/lib/ui/fields/fieldtext.js';
import type { IField } from '../../../labextension/lib/ui/fields/schemafields.js';
import {
  withValue,
  errorAt,
  errorsBelow,
  fieldsOf,
  trimmed
} from '../../../labextension/lib/ui/fields/schemafields.js';

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
    gpu_pool_name: { default: '', description: 'The pool.', title: 'Gpu Pool Name', type: 'string' },
    count: { default: 1, minimum: 1, maximum: 10, title: 'How many', type: 'integer' },
    price: { anyOf: [{ minimum: 0, type: 'number' }, { type: 'null' }], default: null, title: 'Price' },
    key: { format: 'password', title: 'Key', type: 'string', writeOnly: true },
    network: { default: '', enum: ['', 'public', 'vpc'], title: 'Network', type: 'string' },
    kind: { const: 'a', title: 'Kind' },
    queue: { default: '', title: 'Queue', type: 'string', 'x-choices': 'queues' },
    room: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, 'x-choices': 'rooms' },
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
    gpu_pool_name: 'text',
    count: 'integer',
    price: 'number',
    key: 'secret',
    network: 'choice',
    kind: 'choice',
    queue: 'text',
    room: 'text',
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

test('names the list that a field is picked from', () => {
  assert.deepEqual([field('queue').list, field('room').list, field('key').list], ['queues', 'rooms', '']);
});

test('takes title, description, default and choices from the schema', () => {
  assert.equal(field('gpu_pool_name').title, 'GPU pool name');
  assert.equal(field('count').title, 'How many');
  assert.equal(field('gpu_pool_name').description, 'The pool.');
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
