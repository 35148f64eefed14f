import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseJob } from '../../../labextension/lib/api/wire.js';
import { hyperparameterRows } from '../../../labextension/lib/compare/differences.js';
import { axisLabel, valueLabel } from '../../../labextension/lib/metrics/axislabels.js';
import { csvOf, fileName } from '../../../labextension/lib/metrics/csv.js';
import { bestDirection, groupMetrics } from '../../../labextension/lib/metrics/names.js';
import type { IChartSettings } from '../../../labextension/lib/metrics/settings.js';
import { chartSettingsText, parseChartSettings } from '../../../labextension/lib/metrics/settings.js';

test('groups metrics by the prefix before the slash, ungrouped ones first and system metrics last', () => {
  const groups = groupMetrics(['system/cpu', 'train/loss', 'lr', 'val/loss', 'train/acc', '/odd']);
  assert.deepEqual(
    groups.map(({ key, names }) => [key, ...names]),
    [
      ['', 'lr', '/odd'],
      ['train', 'train/loss', 'train/acc'],
      ['val', 'val/loss'],
      ['system', 'system/cpu']
    ]
  );
});

test('infers from the name whether lower values are better', () => {
  for (const name of ['loss', 'train/loss', 'valLoss', 'eval_rmse', 'logloss', 'WER', 'test error', '损失']) {
    assert.equal(bestDirection(name), 'min', name);
  }
  for (const name of ['acc', 'val/f1', 'AUC', 'reward', 'glossary']) {
    assert.equal(bestDirection(name), 'max', name);
  }
});

test('CSV keeps all digits and quotes names that need it', () => {
  const points = { start: 0, end: 2, step: [1, 2], value: [0.1, NaN], time: [0.5, 1], source: 'report' };
  assert.equal(
    csvOf('abc', 'a,"b"', points),
    'abc,"a,""b""",1,1970-01-01T00:00:00.500Z,0.1\nabc,"a,""b""",2,1970-01-01T00:00:01.000Z,NaN\n'
  );
  assert.equal(fileName('abc', '../损失/<x>'), 'abc-.._损失_x_');
});

test('stores chart settings, and replaces invalid ones by the defaults', () => {
  const chosen: IChartSettings = { axis: 'clock', smoothing: 0.6, isLog: true, best: new Map([['loss', 'max']]) };
  assert.deepEqual(parseChartSettings(chartSettingsText(chosen)), chosen);
  const first = { axis: 'step', smoothing: 0, isLog: false, best: new Map() };
  for (const text of ['', 'null', '[]', '{"axis": "x", "smoothing": -1, "isLog": 1, "best": {"a": "b"}}']) {
    assert.deepEqual(parseChartSettings(text), first, text);
  }
});

test('formats labels by the unit of the axis', () => {
  assert.equal(axisLabel('elapsed', 90, 30), '1:30 min');
  assert.equal(axisLabel('elapsed', 7260, 600), '2:01 h');
  assert.equal(axisLabel('elapsed', 0.5, 0.1), '0.5 s');
  assert.equal(axisLabel('step', 0.5, 0.5), '');
  assert.equal(valueLabel(2e9, 'bytes'), '2.0 GB');
  assert.equal(valueLabel(NaN, 'bytes'), 'NaN');
});

test('separates differing hyperparameters from equal ones', () => {
  const job = (hyperparameters: object) => parseJob({ id: 'a', status: 'running', spec: { hyperparameters } });
  const { different, same } = hyperparameterRows([job({ lr: '0.1', n: 3 }), null, job({ lr: '0.2', n: 3, x: '' })]);
  assert.deepEqual(different, [
    { name: 'lr', values: ['0.1', null, '0.2'] },
    { name: 'x', values: [null, null, ''] }
  ]);
  assert.deepEqual(same, [{ name: 'n', values: ['3', null, '3'] }]);
});
