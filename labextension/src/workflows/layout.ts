/**
 * The places of the steps of a run, and of the lines between them. They depend on names, dependencies and conditions
 * only: a changed status needs no new layout.
 */

import { Graph, layout } from '@dagrejs/dagre';

import type { IStep } from '../api/workflowrun.js';
import { columns } from './columns.js';

/** The box of a node. `x` and `y` are its center. */
export interface IBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge between two nodes, by their numbers, as the data of an SVG path. */
interface IEdge {
  readonly from: number;
  readonly to: number;
  readonly path: string;
}

interface ILayout {
  readonly width: number;
  readonly height: number;
  /** The boxes of all steps, in their order. */
  readonly nodes: readonly IBox[];
  readonly edges: readonly IEdge[];
}

interface IPoint {
  readonly x: number;
  readonly y: number;
}

/** The largest workflow that is drawn. A larger graph is not readable. */
export const MAX_STEPS = 60;
// The sum of the levels that each edge crosses. The layout takes about a millisecond for each.
const MAX_CROSSED = 400;

// Columns of a bold letter.
export const BOLD = 1.2;
// Widths in columns. Longer lines are cut.
const MIN_COLUMNS = 24;
const MAX_COLUMNS = 30;
// More steps beside each other are drawn below each other, which needs no horizontal scrolling.
const MAX_BESIDE = 3;

/** The height of a line, and the margin of a node, in pixels. */
export const LINE = 17;
export const MARGIN = 10;
// The average width of a letter, and the space around a node and the graph, in pixels.
const LETTER = 6.8;
const BESIDE = 24;
const BELOW = 36;
const AROUND = 8;

/** Return whether the graph of a workflow has few enough edges. */
export function hasFewEdges(steps: readonly IStep[]): boolean {
  const depths = depthsOf(steps);
  const depthOf = (name: string) => depths.get(name) ?? 0;
  const crossed = steps.flatMap(({ name, dependencies }) => dependencies.map(other => depthOf(name) - depthOf(other)));
  return crossed.reduce((sum, levels) => sum + levels, 0) <= MAX_CROSSED;
}

/** Return the layout of a workflow. */
export function layoutOf(steps: readonly IStep[]): ILayout {
  const isWide = widest(steps) > MAX_BESIDE;
  const graph = new Graph<object, IBox, { points: readonly IPoint[] }>();
  graph.setGraph({ rankdir: isWide ? 'LR' : 'TB', nodesep: BESIDE, ranksep: BELOW, marginx: AROUND, marginy: AROUND });
  const width = Math.min(Math.max(MIN_COLUMNS, ...steps.map(columnsOf)), MAX_COLUMNS) * LETTER + 2 * MARGIN;
  const numbers = new Map(steps.map(({ name }, n) => [name, n]));
  steps.forEach((step, n) => graph.setNode(`${n}`, { x: 0, y: 0, width, height: lineCount(step) * LINE + MARGIN }));
  const edges = steps.flatMap(({ dependencies }, to) =>
    dependencies.flatMap(name => {
      const from = numbers.get(name);
      return from === undefined ? [] : [{ from, to }];
    })
  );
  edges.forEach(({ from, to }) => graph.setEdge(`${from}`, `${to}`, { points: [] }));
  layout(graph);
  const nodes = steps.map((_, n) => graph.node(`${n}`));
  return {
    width: Math.max(0, ...nodes.map(box => box.x + box.width / 2)) + AROUND,
    height: Math.max(0, ...nodes.map(box => box.y + box.height / 2)) + AROUND,
    nodes,
    edges: edges.map(({ from, to }) => {
      const { points } = graph.edge(`${from}`, `${to}`);
      const begin = sideOf(graph.node(`${from}`), 1, isWide);
      const end = sideOf(graph.node(`${to}`), -1, isWide);
      return { from, to, path: curve([begin, ...points.slice(1, -1), end], isWide) };
    })
  };
}

/** Return the number of lines in the node of a step: a condition takes two. */
export function lineCount({ when }: IStep): number {
  return when ? 4 : 2;
}

/** Return the number of columns in a node of a width in pixels. */
export function columnsIn(width: number): number {
  return Math.floor((width - 2 * MARGIN) / LETTER);
}

function columnsOf({ name, when }: IStep): number {
  return Math.max(Math.ceil(columns(name) * BOLD), columns(when));
}

/** Return the largest number of steps at one distance from the beginning. */
function widest(steps: readonly IStep[]): number {
  const counts = new Map<number, number>();
  for (const depth of depthsOf(steps).values()) {
    counts.set(depth, (counts.get(depth) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** Return the distance of each step from the beginning. */
function depthsOf(steps: readonly IStep[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const { name, dependencies } of steps) {
    depths.set(name, Math.max(-1, ...dependencies.map(other => depths.get(other) ?? 0)) + 1);
  }
  return depths;
}

/** Return the middle of the side of a node where edges leave it, or enter it. */
function sideOf({ x, y, width, height }: IBox, direction: 1 | -1, isWide: boolean): IPoint {
  return isWide ? { x: x + (direction * width) / 2, y } : { x, y: y + (direction * height) / 2 };
}

/** Return a curve through points, as the data of an SVG path. It leaves and enters nodes in the direction of ranks. */
function curve(points: readonly IPoint[], isWide: boolean): string {
  const place = ({ x, y }: IPoint) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const parts = points.slice(1).map((to, n) => {
    const from = points[n] ?? to;
    const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
    const [first, second] = isWide
      ? [
          { x: middle.x, y: from.y },
          { x: middle.x, y: to.y }
        ]
      : [
          { x: from.x, y: middle.y },
          { x: to.x, y: middle.y }
        ];
    return `C${place(first)} ${place(second)} ${place(to)}`;
  });
  return points[0] ? `M${place(points[0])}${parts.join('')}` : '';
}
