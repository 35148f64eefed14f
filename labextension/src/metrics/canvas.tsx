/**
 * The plot of a chart. Rendered only while in view.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { placeLabel, valueLabel } from './axislabels.js';
import type { ICurve } from './curves.js';
import { aligned, drawable, marks, nearest } from './curves.js';
import type { Unit } from './names.js';
import { lineDash, lineVariable, Swatch } from './palette.js';
import type { IChartSettings } from './settings.js';
import type { ILine, IListener, IPicture, Plot } from './uplot.js';

/** The line of one job in a chart. `index` selects its color. */
export interface IDrawn {
  readonly index: number;
  readonly label: string;
  readonly curve: ICurve;
}

export interface IWindow {
  readonly min: number;
  readonly max: number;
}

interface IProps {
  readonly lines: readonly IDrawn[];
  readonly settings: IChartSettings;
  readonly unit: Unit;
  readonly window: IWindow | null;
  readonly onWindow: (window: IWindow | null) => void;
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
  const picture = React.useMemo(() => pictureOf(lines, window, isSmooth, hasLog), [lines, window, isSmooth, hasLog]);
  const indexes = lines.map(line => line.index).join(' ');
  const [plots, setPlots] = React.useState<Awaited<ReturnType<typeof loadPlots>> | null>(null);
  const [error, setError] = React.useState('');
  const drawn = React.useRef(picture);
  drawn.current = picture;

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
    const look = { axis: settings.axis, isLog: hasLog, unit, syncKey, lines: looks(parent, indexes, isSmooth) };
    const made = new plots.Plot(parent, look, drawn.current, listener);
    plot.current = made;
    return () => {
      plot.current = null;
      made.dispose();
    };
  }, [plots, settings.axis, hasLog, unit, syncKey, indexes, isSmooth, theme]);
  React.useEffect(() => plot.current?.show(picture), [picture]);

  return (
    <>
      <div className="jp-pai-Chart-plot" ref={node} aria-hidden="true" />
      {error && <p>{error}</p>}
      <Readout {...props} cursor={cursor} />
    </>
  );
}

/** Return the style of each line; smoothed lines have a faint one with the original points. */
function looks(node: HTMLElement, indexes: string, isSmooth: boolean): ILine[] {
  const style = getComputedStyle(node);
  return indexes.split(' ').flatMap(text => {
    const index = Number(text);
    const look = { color: style.getPropertyValue(lineVariable(index)), dash: lineDash(index) };
    return isSmooth
      ? [
          { ...look, isFaint: true },
          { ...look, isFaint: false }
        ]
      : [{ ...look, isFaint: false }];
  });
}

function pictureOf(lines: readonly IDrawn[], window: IWindow | null, isSmooth: boolean, isLog: boolean): IPicture {
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
  const [at, setAt] = React.useState<number | null>(null);
  React.useEffect(() => {
    cursor.current = setAt;
  }, [cursor]);
  const found = lines.flatMap(line => {
    const place = at === null ? -1 : nearest(line.curve.x, at);
    return place < 0 ? [] : [{ line, place, x: line.curve.x[place] ?? 0 }];
  });
  const [first] = found;
  if (at === null || !first) {
    return null;
  }
  // Show the position of the nearest point.
  const { x } = found.reduce((a, b) => (Math.abs(b.x - at) < Math.abs(a.x - at) ? b : a), first);
  return (
    <div className="jp-pai-Chart-readout" aria-hidden="true">
      <div>{`${axisName(props)} ${placeLabel(settings.axis, x)}`}</div>
      {found.map(({ line, place }) => (
        <div key={line.index}>
          {lines.length > 1 && <Swatch index={line.index} />}
          <b>{valueLabel(line.curve.smooth[place] ?? NaN, unit)}</b>
          {settings.smoothing > 0 && ` (${valueLabel(line.curve.points.value[place] ?? NaN, unit)})`}
          {lines.length > 1 && ` ${line.label}`}
        </div>
      ))}
    </div>
  );
}

function axisName({ settings, trans }: IProps): string {
  return settings.axis === 'step' ? trans.__('step') : '';
}
