import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IOption } from '../../../labextension/lib/api/options.js';
import { changesOf, OPTION_FIELDS, partsOf } from '../../../labextension/lib/api/options.js';
import { draftOf, requestOf, withOption } from '../../../labextension/lib/train/draft.js';

const known = (option: string) => option in OPTION_FIELDS || option === 'dry-run';
const option = (option: string, value = '', name = ''): IOption => ({ option, name, value });

function optionsIn(text: string): readonly IOption[] {
  return partsOf(text, known).filter(part => typeof part !== 'string');
}

test('finds the options in messages, in sentences of both languages', () => {
  const question = 'To include it, omit --exclude data/. To pass it as an input: --input data=/a/data.';
  assert.deepEqual(partsOf(question, known), [
    'To include it, omit ',
    option('exclude', 'data/'),
    '. To pass it as an input: ',
    option('input', '/a/data', 'data'),
    '.'
  ]);
  assert.deepEqual(partsOf('如要作为输入传入：--input data=/a/数据。', known), [
    '如要作为输入传入：',
    option('input', '/a/数据', 'data'),
    '。'
  ]);
  assert.deepEqual(optionsIn("add: --input 'a=/x/my data' --exclude '/a[b].bin'"), [
    option('input', '/x/my data', 'a'),
    option('exclude', '/a[b].bin')
  ]);
  assert.deepEqual(optionsIn('Add its folder to the path: --env PYTHONPATH=.'), [option('env', '.', 'PYTHONPATH')]);
  assert.deepEqual(optionsIn(`Pack it: --source '/it'"'"'s, mine/'. Pass it: --input a=/x,y/b:c.`), [
    option('source', "/it's, mine/"),
    option('input', '/x,y/b:c', 'a')
  ]);
});

test('keeps the words that are no values, and commands', () => {
  assert.deepEqual(partsOf('Check with --dry-run that it is there.', known), [
    'Check with ',
    option('dry-run'),
    ' that it is there.'
  ]);
  assert.deepEqual(partsOf('Request more with --memory, or less.', known), [
    'Request more with ',
    option('memory'),
    ', or less.'
  ]);
  assert.deepEqual(optionsIn('Pass data with --input NAME=PATH. Pass it: --hp lr=VALUE'), [
    option('input'),
    option('hp', '', 'lr')
  ]);
  assert.deepEqual(optionsIn('excluded by .paiignore, --include or --exclude.'), [
    option('include'),
    option('exclude')
  ]);
  assert.deepEqual(optionsIn('Run without containers: --container none.'), [option('container', 'none')]);
  for (const text of [
    'Run %pai submit --input a=b here',
    'torchrun --env a=b',
    'use `python x --env a=b`',
    '--nope x'
  ]) {
    assert.deepEqual(partsOf(text, known), [text]);
  }
});

test('each option changes the form', () => {
  const request = { spec: { environment: { A: '1' }, requirements: ['a'], source: { exclude: ['data/', '*.bin'] } } };
  const options = [
    option('env', '2', 'A'),
    option('hp', '', 'lr'),
    option('input', '/a/data', 'data'),
    option('requirement', 'b'),
    option('exclude', 'data/'),
    option('allow-secret', '.env'),
    option('gpu', '2'),
    option('image', 'x')
  ];
  const draft = options.reduce((draft, one) => withOption(draft, one) ?? assert.fail(), draftOf(request));
  assert.deepEqual(requestOf(draft)['spec'], {
    environment: { A: '2' },
    hyperparameters: { lr: '' },
    inputs: { data: '/a/data' },
    requirements: ['a', 'b'],
    source: { exclude: ['*.bin'], allow_secret: ['.env'] },
    gpu: 2,
    image: 'x'
  });
  for (const one of [option('dry-run'), option('input'), option('requirement')]) {
    assert.equal(withOption(draft, one), null);
  }
});

test('a folder around the present one keeps what the job runs', () => {
  const files = { 'run.py': '1' };
  const spec = { entry_point: 'run.py', source: { folder: '/w/my code', files, exclude: ['x'] } };
  const moved = (fields: object, folder: string) =>
    requestOf(withOption(draftOf({ spec: { ...spec, ...fields } }), option('source', folder)) ?? assert.fail())['spec'];
  const inner = {
    entry_point: 'my code/run.py',
    source: { folder: '/w', files: { 'my code/run.py': '1' }, exclude: ['x'] }
  };
  assert.deepEqual(moved({}, '/w'), inner);
  const roles = [{ name: 'server' }, { name: 'worker', command: 'a' }];
  assert.deepEqual(moved({ command: 'python run.py', roles }, '/w'), {
    ...inner,
    command: "cd 'my code' && python run.py",
    roles: [{ name: 'server' }, { name: 'worker', command: "cd 'my code' && a" }]
  });
  for (const folder of ['/w/my', '/other', '/w/my code/deep', '/w/my code']) {
    assert.deepEqual(moved({ command: 'a' }, folder), { ...spec, command: 'a', source: { ...spec.source, folder } });
  }
});

test('a rerun changes what is not of the code', () => {
  const spec = { requirements: ['a'] };
  assert.deepEqual(changesOf(spec, option('requirement', 'b')), { requirements: ['a', 'b'] });
  assert.deepEqual(changesOf(spec, option('env', '.', 'PYTHONPATH')), { environment: { PYTHONPATH: '.' } });
  assert.deepEqual(changesOf(spec, option('max-run-time', '60')), { max_run_time: 60 });
  assert.deepEqual(changesOf(spec, option('container', 'none')), { options: { container: 'none' } });
  for (const one of [option('allow-secret', '.env'), option('source', '/a'), option('hp', '', 'lr')]) {
    assert.equal(changesOf(spec, one), null);
  }
});
