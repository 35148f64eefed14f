/**
 * The plot of a chart. Rendered only while in view.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { positionLabel, valueLabel } from './axislabels.js';
import type { ICurve } from './curves.js';
import { aligned, drawable, marks, nearest } from './curves.js';
import type { Unit } from './names.js';
import { lineDash, lineVariable, Swatch } from './palette.js';
import type { IChartSettings } from './settings.js';
import type { ILine, IListener, IPlotData, Plot } from './uplot.js';

/** The line of one job in a chart. `index` selects its color. */
export interface ILineCurve {
  readonly index: number;
  readonly label: string;
  readonly curve: ICurve;
}

export interface IRange {
  readonly min: number;
  readonly max: number;
}

interface IProps {
  readonly lines: readonly ILineCurve[];
  readonly settings: IChartSettings;
  readonly unit: Unit;
  readonly window: IRange | null;
  readonly onWindow: (window: IRange | null) => void;
  readonly syncKey: string;
  readonly theme: string;
  readonly trans: TranslationBundle;
  /** Set to the current plot, for export as an image. */
  readonly plot: React.MutableRefObject<Plot | null>;
}

// uPlot is loaded with the first chart.
const loadPlots = () => import('./uplot.js');

export function Canvas(props: IProps): React.JSX.Element {
  const { lines, settings, unit, window, theme, syncKey, plot } = props;
  const node = React.useRef<HTMLDivElement>(null);
  const cursor = React.useRef<(x: number | null) => void>(() => undefined);
  const latest = React.useRef(props);
  latest.current = props;
  const hasLog =
    settings.isLog &&
    !unit &&
    lines.some(({ curve }) => curve.points.value.some(value => Number.isFinite(value) && value > 0));
  const isSmooth = settings.smoothing > 0;
  const data = React.useMemo(() => plotData(lines, window, isSmooth, hasLog), [lines, window, isSmooth, hasLog]);
  const indexes = lines.map(line => line.index).join(' ');
  const [plots, setPlots] = React.useState<Awaited<ReturnType<typeof loadPlots>> | null>(null);
  const [error, setError] = React.useState('');
  const latestPicture = React.useRef(data);
  latestPicture.current = data;

  React.useEffect(() => {
    loadPlots().then(setPlots, (reason: unknown) => setError(String(reason)));
  }, []);
  React.useEffect(() => {
    const parent = node.current;
    if (!plots || !parent) {
      return;
    }
    const listener: IListener = {
      zoom: (min, max) => latest.current.onWindow({ min, max }),
      reset: () => latest.current.onWindow(null),
      cursor: x => cursor.current(x)
    };
    const appearance = {
      axis: settings.axis,
      isLog: hasLog,
      unit,
      syncKey,
      lines: lineStyles(parent, indexes, isSmooth)
    };
    const instance = new plots.Plot(parent, appearance, latestPicture.current, listener);
    plot.current = instance;
    return () => {
      plot.current = null;
      instance.dispose();
    };
  }, [plots, settings.axis, hasLog, unit, syncKey, indexes, isSmooth, theme]);
  React.useEffect(() => plot.current?.show(data), [data]);

  return (
    <>
      <div className="jp-pai-Chart-plot" ref={node} aria-hidden="true" />
      {error && <p>{error}</p>}
      <Readout {...props} cursor={cursor} />
    </>
  );
}

/** Return the style of each line; smoothed lines have a faint one with the original points. */
function lineStyles(node: HTMLElement, indexes: string, isSmooth: boolean): ILine[] {
  const computed = getComputedStyle(node);
  return indexes.split(' ').flatMap(text => {
    const index = Number(text);
    const style = { color: computed.getPropertyValue(lineVariable(index)), dash: lineDash(index) };
    return isSmooth
      ? [
          { ...style, isFaint: true },
          { ...style, isFaint: false }
        ]
      : [{ ...style, isFaint: false }];
  });
}

function plotData(lines: readonly ILineCurve[], window: IRange | null, isSmooth: boolean, isLog: boolean): IPlotData {
  const tables = lines.map(({ curve }) => {
    const raw = drawable(curve.points.value, isLog);
    return { x: curve.x, columns: isSmooth ? [raw, drawable(curve.smooth, isLog)] : [raw] };
  });
  const width = isSmooth ? 2 : 1;
  return {
    ...aligned(tables),
    marks: lines.flatMap(({ curve }, i) => marks(curve, isLog).map(mark => ({ ...mark, line: i * width }))),
    window
  };
}

/** The values at the cursor, which may be in another chart. */
function Readout(
  props: IProps & { cursor: React.MutableRefObject<(x: number | null) => void> }
): React.JSX.Element | null {
  const { lines, settings, unit, cursor } = props;
  const [cursorX, setCursorX] = React.useState<number | null>(null);
  React.useEffect(() => {
    cursor.current = setCursorX;
  }, [cursor]);
  const points = lines.flatMap(line => {
    const index = cursorX === null ? -1 : nearest(line.curve.x, cursorX);
    return index < 0 ? [] : [{ line, place: index, x: line.curve.x[index] ?? 0 }];
  });
  const [first] = points;
  if (cursorX === null || !first) {
    return null;
  }
  // Show the position of the nearest point.
  const { x } = points.reduce((a, b) => (Math.abs(b.x - cursorX) < Math.abs(a.x - cursorX) ? b : a), first);
  return (
    <div className="jp-pai-Chart-readout" aria-hidden="true">
      <div>{`${axisName(props)} ${positionLabel(settings.axis, x)}`}</div>
      {points.map(({ line, place: index }) => (
        <div key={line.index}>
          {lines.length > 1 && <Swatch index={line.index} />}
          <b>{valueLabel(line.curve.smooth[index] ?? NaN, unit)}</b>
          {settings.smoothing > 0 && ` (${valueLabel(line.curve.points.value[index] ?? NaN, unit)})`}
          {lines.length > 1 && ` ${line.label}`}
        </div>
      ))}
    </div>
  );
}

function axisName({ settings, trans }: IProps): string {
  return settings.axis === 'step' ? trans.__('step') : '';
}
