import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import { record } from '../../../labextension/lib/api/wire.js';
import {
  addRow,
  channelNameFor,
  draftOf,
  field,
  otherRows,
  hasRowErrors,
  requestOf,
  rowErrors,
  ruleFor,
  withField,
  withRows,
  withRule,
  withValue
} from '../../../labextension/lib/train/draft.js';
import { parseDeclared, formErrorsOf } from '../../../labextension/lib/train/preview.js';

const REQUEST: Json = {
  backend: 'local',
  notebook: 'work/a.ipynb',
  spec: {
    entry_point: 'a.ipynb',
    source: { folder: '/home/work', include: ['*.py'] },
    hyperparameters: { lr: '0.1', layers: [1, 2] },
    options: { deep: { er: 1 } }
  }
};

const [LR, FLAG, ALIASED] = parseDeclared({
  hyperparameters: [
    { name: 'lr', type: 'float', default: '0.01', required: false, form: 'option' },
    { name: 'quiet', type: 'bool', default: 'False', required: false, form: 'flag' },
    { name: 'epochs', type: 'int', default: null, required: true, form: 'option', aliases: ['n'] }
  ]
});

test('keeps fields of the request that the form does not show, and removes empty ones', () => {
  const draft = draftOf(REQUEST);
  const { spec, ...others } = requestOf(draft);
  assert.deepEqual(others, { backend: 'local', notebook: 'work/a.ipynb' });
  assert.deepEqual(record(spec)['options'], { deep: { er: 1 } });
  assert.deepEqual(record(spec)['hyperparameters'], { lr: '0.1', layers: '[1,2]' });

  const set = withField(withField(draft, 'source.exclude', ['/big']), 'gpu', 0);
  assert.deepEqual(record(requestOf(set)['spec'])['source'], {
    folder: '/home/work',
    include: ['*.py'],
    exclude: ['/big']
  });
  assert.equal(field(set, 'gpu'), 0);
  assert.deepEqual(requestOf(withField(withField(set, 'source.exclude', []), 'gpu', '')), requestOf(draft));
  assert.equal(field(withField(draft, 'source.gitignore', false), 'source.gitignore'), false);
});

test('sends changed hyperparameters only, each under its existing name', () => {
  assert.ok(LR && FLAG && ALIASED);
  let rows = draftOf({ spec: { hyperparameters: { n: '3', other: 'x' } } }).tables.hyperparameters;
  const sent = () => record(requestOf(withRows(draftOf({}), 'hyperparameters', rows))['spec'])['hyperparameters'];
  assert.deepEqual(
    otherRows(rows, [LR, FLAG, ALIASED]).map(row => row.name),
    ['other']
  );
  rows = withValue(rows, ALIASED, '4');
  rows = withValue(rows, LR, '0.5');
  assert.deepEqual(sent(), { n: '4', other: 'x', lr: '0.5' });
  rows = withValue(rows, LR, null);
  assert.deepEqual(sent(), { n: '4', other: 'x' });

  // A row with a name being typed stays in the table, even if the code declares that name.
  rows = addRow(rows).map(row => (row.isOwn ? { ...row, name: 'lr', value: '1' } : row));
  assert.deepEqual(
    otherRows(rows, [LR, FLAG, ALIASED]).map(row => row.name),
    ['other', 'lr']
  );
});

test('rejects rows with a missing or duplicate name, and ignores empty rows', () => {
  const draft = draftOf({ spec: { labels: { a: '1' } } });
  const rows = addRow(addRow(addRow(draft.tables.labels)));
  const written = rows.map((row, n) => [row, row, { ...row, name: 'a' }, { ...row, value: 'v' }][n] ?? row);
  assert.deepEqual([...rowErrors(written).values()], ['duplicate', 'duplicate', 'nameless']);
  assert.equal(hasRowErrors(withRows(draft, 'labels', written)), true);
  assert.equal(hasRowErrors(withRows(draft, 'labels', rows)), false);
  assert.deepEqual(record(requestOf(withRows(draft, 'labels', rows))['spec']), { labels: { a: '1' } });
  const [none, half] = [
    { name: '', regex: '' },
    { name: 'loss', regex: '' }
  ];
  const sent = (...metrics: Json[]) =>
    record(requestOf(withField(draftOf({}), 'metric_definitions', metrics))['spec'])['metric_definitions'];
  assert.deepEqual([sent(none), sent(none, half, none)], [undefined, [half]]);
});

test('excludes exactly the clicked file, and includes it again', () => {
  assert.equal(ruleFor('data/'), '/data/');
  assert.equal(ruleFor('a b/[1]*.bin'), '/a\\ b/\\[1\\]\\*.bin');
  const draft = draftOf(REQUEST);
  const without = withRule(withRule(draft, '/x', true), '/x', true);
  assert.deepEqual(field(without, 'source.exclude'), ['/x']);
  assert.deepEqual(requestOf(withRule(without, '/x', false)), requestOf(draft));
  const alone = withRule(withRule(draft, 'b', true, 'source.include'), '*.py', false, 'source.include');
  assert.deepEqual(record(record(requestOf(alone)['spec'])['source']), { folder: '/home/work', include: ['b'] });
});

test('derives unique channel names', () => {
  const draft = withField(draftOf({}), 'inputs', { train: 'oss://b/train/' });
  assert.equal(channelNameFor(draft, 'oss://b/more/train/'), 'train_2');
  assert.equal(channelNameFor(draft, 'oss://b/2024-x.tar.gz'), 'data_2024_x_tar');
  assert.equal(channelNameFor(draft, '/'), 'data');
});

test('assigns errors to fields, and all others to the form', () => {
  const leak = { path: '.netrc', line: 3, cell: 0, what: 'a password' };
  const errors = formErrorsOf(
    new EngineError('bad', 'mend it', 'SpecError', 400, { faults: { source: 'bad' }, leaks: [leak] })
  );
  assert.deepEqual([...errors.fields], [['source', 'bad mend it']]);
  assert.deepEqual(
    [errors.message, errors.secrets],
    [null, [{ path: '.netrc', line: 3, cell: 0, description: 'a password' }]]
  );
  const none = formErrorsOf(new EngineError('no answer', 'wait'));
  assert.deepEqual([none.fields.size, none.message], [0, { message: 'no answer', fix: 'wait' }]);
});
