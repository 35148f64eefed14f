import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IStep } from '../../../labextension/lib/api/workflowrun.js';
import { parseListedRun, parseRun } from '../../../labextension/lib/api/workflowrun.js';
import { cut } from '../../../labextension/lib/workflows/columns.js';
import { hasFewEdges, layoutOf, LINE, lineCount } from '../../../labextension/lib/workflows/layout.js';
import { decidedText, decisionOf, pollInterval, valuesText } from '../../../labextension/lib/workflows/model.js';

const HOSTILE = `a.b == '"]--><script>alert(1)</script>%%{init: {"securityLevel": "loose"}}%%'`;

function steps(...made: readonly object[]): readonly IStep[] {
  return parseRun({ run: { id: 'r', name: 'n', status: 'running', steps: made } })?.steps ?? [];
}

test('a layout has a box for each step and an edge for each known dependency, and no text of a user', () => {
  const drawn = steps(
    { name: HOSTILE },
    { name: 'publish', dependencies: [HOSTILE, 'gone'], when: HOSTILE, values: { 'a.b': HOSTILE } }
  );
  const { nodes, edges, width, height } = layoutOf(drawn);
  const [first, second] = nodes;
  assert.ok(first && second && nodes.length === 2);
  // A condition takes two lines.
  assert.equal(second.height - first.height, 2 * LINE);
  assert.deepEqual(
    edges.map(({ from, to }) => [from, to]),
    [[0, 1]]
  );
  assert.match(edges[0]?.path ?? '', /^M[\d.\s]+(C[\d.\s]+)+$/);
  const lowest = second.y + second.height / 2;
  assert.ok(first.y + first.height / 2 < second.y - second.height / 2 && lowest < height && second.width < width);
  assert.deepEqual(layoutOf([]).nodes, []);
});

test('no boxes overlap, and all are within the graph', () => {
  const fans = steps(
    ...Array.from({ length: 60 }, (_, n) => ({ name: `s${n}`, dependencies: n ? [`s${(n - 1) >> 1}`] : [] }))
  );
  const { nodes, edges, width, height } = layoutOf(fans);
  assert.deepEqual([nodes.length, edges.length], [60, 59]);
  for (const [n, box] of nodes.entries()) {
    assert.ok(box.x - box.width / 2 >= 0 && box.x + box.width / 2 <= width);
    assert.ok(box.y - box.height / 2 >= 0 && box.y + box.height / 2 <= height);
    for (const other of nodes.slice(n + 1)) {
      assert.ok(Math.abs(box.x - other.x) >= box.width || Math.abs(box.y - other.y) >= box.height);
    }
  }
});

test('a layout is the same whatever the status of its steps', () => {
  const before = steps({ name: 'a' }, { name: 'b', dependencies: ['a'], when: 'a.x > 1' });
  const after = before.map(step => ({ ...step, status: 'skipped' as const, reason: HOSTILE, job: 'j', attempt: 3 }));
  assert.deepEqual(layoutOf(after), layoutOf(before));
});

test('steps beside each other are drawn below each other', () => {
  const fan = ['b', 'c', 'd', 'e'].map(name => ({ name, dependencies: ['a'] }));
  const xs = (...made: readonly object[]) => new Set(layoutOf(steps({ name: 'a' }, ...made)).nodes.map(({ x }) => x));
  assert.equal(xs(...fan).size, 2);
  assert.equal(xs(...fan.slice(1)).size, 3);
});

test('workflows whose steps need many others are not drawn', () => {
  const all = Array.from({ length: 40 }, (_, n) => `s${n}`);
  const needing = (most: number) =>
    steps(...all.map((name, n) => ({ name, dependencies: all.slice(Math.max(0, n - most), n) })));
  assert.ok(hasFewEdges(needing(3)));
  assert.ok(!hasFewEdges(needing(5)));
  // One level is crossed by each edge.
  const half = all.slice(0, 20);
  assert.ok(hasFewEdges(steps(...all.map((name, n) => ({ name, dependencies: n < 20 ? [] : half })))));
});

test('long texts are cut, and Chinese letters take two columns', () => {
  assert.equal(cut('train', 5), 'train');
  assert.equal(cut('trains', 5), 'trai…');
  assert.equal(cut('训练', 4), '训练');
  assert.equal(cut('训练模型', 5), '训练…');
  assert.equal(cut('😀😀😀', 5), '😀😀…');
});

test('a condition is undecided until its values are known', () => {
  const [none, held, failed] = steps(
    { name: 'a', when: 'x.y > 1' },
    { name: 'b', when: 'x.y > 1', status: 'failed', values: { 'x.y': '2' } },
    { name: 'c', when: 'x.y > 1', status: 'skipped', values: { 'x.y': '0', 'x.z': 'text' } }
  );
  assert.ok(none && held && failed);
  assert.deepEqual([none, held, failed].map(decisionOf), ['undecided', 'true', 'false']);
  assert.equal(valuesText(failed), 'x.y = 0, x.z = text');
  assert.equal(decidedText({ ...failed, when: "(x.y > 1) and x.z == 'x.y'" }), "(0 > 1) and text == 'x.y'");
  assert.deepEqual([none, { ...none, when: '' }].map(lineCount), [4, 2]);
});

test('runs of newer servers and invalid replies are parsed', () => {
  assert.equal(parseRun(undefined), null);
  assert.equal(parseRun({ run: { id: 'r', status: 'unknown' } }), null);
  assert.deepEqual(
    steps({ name: 'a', status: 'unknown' }).map(({ status }) => status),
    ['waiting']
  );
  const counts = { succeeded: 2, skipped: 1, running: 1, waiting: 3 };
  const listed = parseListedRun({ id: 'r', name: 'n', status: 'running', counts });
  assert.deepEqual([listed?.stepCount, listed?.endedCount], [7, 3]);
  assert.equal(parseListedRun({ id: 'r' }), null);
});

test('an ended or large run is polled less often', () => {
  const run = parseRun({ run: { id: 'r', name: 'n', status: 'running', steps: [] } });
  const [step] = steps({ name: 'a' });
  assert.ok(run && step);
  assert.equal(pollInterval(run), 1000);
  assert.equal(pollInterval({ ...run, steps: Array.from({ length: 1000 }, () => step) }), 5000);
  assert.equal(pollInterval({ ...run, status: 'stopped' }), 15_000);
});
