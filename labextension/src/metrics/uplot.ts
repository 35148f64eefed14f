/**
 * A chart drawn by uPlot. Loaded with the first chart.
 */

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { axisLabel, valueLabel } from './axislabels.js';
import type { Axis, Column, IMark } from './curves.js';
import type { Unit } from './names.js';

/** The style of a line. */
export interface ILine {
  readonly color: string;
  readonly dash: readonly number[];
  /** True if the line is a faint background of a smoothed one. */
  readonly isFaint: boolean;
}

/** The settings of a chart apart from its data. Changing them requires a new plot. */
export interface IAppearance {
  readonly axis: Axis;
  readonly isLog: boolean;
  readonly unit: Unit;
  readonly lines: readonly ILine[];
  /** Charts with the same key share the cursor. */
  readonly syncKey: string;
}

export interface IPlotData {
  readonly x: readonly number[];
  /** One column per line. */
  readonly columns: readonly Column[];
  /** Marks of values that cannot be drawn, with the index of their line. */
  readonly marks: readonly (IMark & { readonly line: number })[];
  /** The visible range of x; null for all. */
  readonly window: { readonly min: number; readonly max: number } | null;
}

/** Events of a chart. `cursor`: the x of the cursor, in this or a synchronized chart; null if outside. */
export interface IListener {
  zoom(min: number, max: number): void;
  reset(): void;
  cursor(x: number | null): void;
}

const HEIGHT = 180;
// A `const enum`, of which only the numbers exist at run time.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
const LOGARITHMIC: uPlot.Scale.Distr = 3;
const FAINT = 0.3;
const SECONDS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200];
const DAYS = [1, 2, 5, 10, 20, 50, 100, 200, 500].map(days => days * 86400);

export class Plot {
  constructor(
    private readonly node: HTMLElement,
    private readonly appearance: IAppearance,
    private data: IPlotData,
    private readonly listener: IListener
  ) {
    this.plot = new uPlot(this.options(), this.columns(), node);
    this.range();
    this.observer = new ResizeObserver(() => this.plot.setSize({ width: this.width(), height: HEIGHT }));
    this.observer.observe(node);
  }

  /** Show other data. */
  show(data: IPlotData): void {
    this.data = data;
    this.plot.setData(this.columns(), data.window === null);
    this.range();
  }

  get canvas(): HTMLCanvasElement {
    return this.plot.ctx.canvas;
  }

  dispose(): void {
    this.observer.disconnect();
    this.plot.destroy();
  }

  private columns(): uPlot.AlignedData {
    return [[...this.data.x], ...this.data.columns.map(column => [...column])];
  }

  private range(): void {
    if (this.data.window) {
      this.plot.setScale('x', { ...this.data.window });
    }
  }

  private width(): number {
    return Math.max(this.node.clientWidth, 100);
  }

  private options(): uPlot.Options {
    const { axis, isLog, lines, syncKey } = this.appearance;
    return {
      width: this.width(),
      height: HEIGHT,
      // Labels may extend beyond the end of the axis.
      padding: [8, axis === 'step' ? 14 : 24, 0, 0],
      legend: { show: false },
      scales: { x: { time: axis === 'clock' }, y: isLog ? { distr: LOGARITHMIC } : {} },
      axes: [this.xAxis(), this.yAxis()],
      series: [
        {},
        ...lines.map(({ color, dash, isFaint }): uPlot.Series => ({
          stroke: color,
          dash: [...dash],
          width: isFaint ? 1 : 1.5,
          alpha: isFaint ? FAINT : 1,
          points: { size: 4, fill: color }
        }))
      ],
      cursor: {
        y: false,
        points: { size: 6 },
        drag: { x: true, y: false, setScale: false, dist: 5 },
        // Only cursor events are synchronized, not zooming.
        sync: { key: syncKey, setSeries: false, scales: ['x', null], filters: { pub: isPointer } },
        bind: {
          dblclick: () => () => {
            this.listener.reset();
            return null;
          }
        }
      },
      hooks: {
        setSelect: [plot => this.handleSelection(plot)],
        setCursor: [plot => this.listener.cursor(cursorOf(plot))],
        draw: [plot => this.drawMarks(plot)]
      }
    };
  }

  private xAxis(): uPlot.Axis {
    const { axis } = this.appearance;
    return {
      ...this.axisColors(),
      size: 30,
      ...(axis === 'elapsed' ? { incrs: [...SECONDS, ...DAYS] } : {}),
      values: (_plot, splits, _axis, _space, incr) => splits.map(x => axisLabel(axis, x, incr))
    };
  }

  private yAxis(): uPlot.Axis {
    return {
      ...this.axisColors(),
      size: (_plot, values: string[] | null) => 16 + 6.5 * Math.max(...(values ?? []).map(text => text.length), 3),
      // On a log scale some splits are null, which the types do not declare.
      values: (_plot, splits: (number | null)[]) =>
        splits.map(value => (value === null ? '' : valueLabel(value, this.appearance.unit)))
    };
  }

  private axisColors(): uPlot.Axis {
    const style = getComputedStyle(this.node);
    const grid = { stroke: style.getPropertyValue('--jp-border-color2'), width: 1 };
    return {
      stroke: style.getPropertyValue('--jp-ui-font-color1'),
      font: `11px ${style.fontFamily}`,
      grid,
      ticks: { ...grid, size: 4 }
    };
  }

  private handleSelection(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width > 0) {
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.listener.zoom(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
    }
  }

  /** Draw a cross at the bottom for NaN, and triangles at the edges for values beyond them. */
  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const { min = 0, max = 0 } = plot.scales['x'] ?? {};
    const size = 4 * uPlot.pxRatio;
    const drawnKeys = new Set<string>();
    ctx.save();
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    for (const { x, kind, line } of this.data.marks) {
      const position = Math.round(plot.valToPos(x, 'x', true));
      const key = `${kind} ${line} ${Math.round(position / size)}`;
      if (x < min || x > max || drawnKeys.has(key)) {
        continue;
      }
      drawnKeys.add(key);
      ctx.strokeStyle = ctx.fillStyle = this.appearance.lines[line]?.color ?? '';
      ctx.beginPath();
      const bottom = bbox.top + bbox.height - size;
      if (kind === 'nan') {
        cross(ctx, position, bottom, size);
        ctx.stroke();
      } else {
        triangle(ctx, position, kind === 'above' ? bbox.top + size : bottom, kind === 'above' ? -size : size);
        ctx.fill();
      }
    }
    ctx.restore();
  }

  private readonly plot: uPlot;
  private readonly observer: ResizeObserver;
}

function isPointer(type: string): boolean {
  return type === 'mousemove' || type === 'mouseleave';
}

function cursorOf(plot: uPlot): number | null {
  const { left = -1 } = plot.cursor;
  return left < 0 ? null : plot.posToVal(left, 'x');
}

function cross(ctx: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  ctx.moveTo(x - size, y - size);
  ctx.lineTo(x + size, y + size);
  ctx.moveTo(x - size, y + size);
  ctx.lineTo(x + size, y - size);
}

function triangle(ctx: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  ctx.moveTo(x, y + size);
  ctx.lineTo(x - Math.abs(size), y - size);
  ctx.lineTo(x + Math.abs(size), y - size);
  ctx.closePath();
}
