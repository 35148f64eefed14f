/**
 * One metric: its name, latest and best value, and chart, for one or several jobs.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IPoints } from '../api/wire.js';
import { DETECTED, visible } from '../api/wire.js';
import { pngOf, saveFile } from '../ui/savefile.js';
import { useInViewport } from '../ui/visibility.js';
import { valueLabel } from './axislabels.js';
import type { ILineCurve, IRange } from './canvas.js';
import { Canvas } from './canvas.js';
import { CSV_HEAD, csvOf, fileName } from './csv.js';
import { curve, refined, stepsWithin } from './curves.js';
import type { MetricsModel } from './model.js';
import { POINTS_PER_METRIC } from './model.js';
import type { Unit } from './names.js';
import { Detected } from './detected.js';
import { bestDirection, SYSTEM, unitOf } from './names.js';
import { lineDash, lineVariable, Swatch } from './palette.js';
import type { Best } from './points.js';
import { best, isComplete, latest } from './points.js';
import type { IChartSettings } from './settings.js';
import type { Plot } from './uplot.js';

/** A job in the charts. `start` is in seconds since 1970, `index` selects its color. */
export interface IRun {
  readonly model: MetricsModel;
  readonly label: string;
  readonly start: number;
  readonly index: number;
}

/** The points of the charted metric of one job. */
export interface ITrack {
  readonly run: IRun;
  readonly points: IPoints;
}

interface IProps {
  readonly name: string;
  readonly tracks: readonly ITrack[];
  readonly settings: IChartSettings;
  readonly onBest: (name: string, which: Best) => void;
  readonly onError: (reason: unknown) => void;
  readonly syncKey: string;
  readonly theme: string;
  readonly trans: TranslationBundle;
}

/** Points of the zoomed range, with a finer resolution than the loaded ones. */
type FinePoints = ReadonlyMap<IRun, { readonly points: IPoints; readonly first: number; readonly last: number }>;

const NOTHING: FinePoints = new Map();

function PlainChart(props: IProps): React.JSX.Element {
  const { name, tracks, settings, trans } = props;
  const card = React.useRef<HTMLElement>(null);
  const plot = React.useRef<Plot | null>(null);
  const isInSight = useInViewport(card);
  const [window, setWindow] = React.useState<IRange | null>(null);
  const fine = useFinePoints(props, window);
  // Some platforms do not document the units of their samples.
  const unit = tracks.every(track => track.points.source === SYSTEM) ? unitOf(name) : '';
  const lines = React.useMemo(
    () => (isInSight ? tracks.map(track => lineCurveOf(track, settings, fine)) : []),
    [isInSight, tracks, settings.axis, settings.smoothing, fine]
  );
  // A range of steps is meaningless on a time axis.
  React.useEffect(() => setWindow(null), [settings.axis]);
  return (
    <figure className="jp-pai-Chart" ref={card} aria-label={describe(props, unit)}>
      <figcaption>
        <span className={`jp-pai-Chart-name ${tracks.length > 1 ? 'jp-pai-mod-several' : ''}`} title={visible(name)}>
          {visible(name)}
        </span>
        {tracks.some(track => track.points.source === DETECTED) && <Detected trans={trans} />}
        {tracks.map(track => (
          <Numbers key={track.run.index} {...props} track={track} unit={unit} />
        ))}
      </figcaption>
      <div className="jp-pai-Chart-area">
        {lines.length > 0 && <Canvas {...props} {...{ lines, unit, window, plot }} onWindow={setWindow} />}
      </div>
      {isInSight && (
        <div className="jp-pai-Chart-buttons">
          {window && (
            <button type="button" onClick={() => setWindow(null)}>
              {trans.__('Reset zoom')}
            </button>
          )}
          <button type="button" aria-label={trans.__('Save %1 as CSV', name)} onClick={() => void saveCsv(props)}>
            CSV
          </button>
          <button
            type="button"
            aria-label={trans.__('Save %1 as PNG', name)}
            onClick={() => void savePicture(props, plot.current, card.current)}
          >
            PNG
          </button>
        </div>
      )}
    </figure>
  );
}

/** One metric. Rendered again only if its properties changed. */
export const Chart = React.memo(PlainChart, (before, after) => {
  const { tracks: old, ...rest } = before;
  const { tracks, ...others } = after;
  const names = Object.keys(rest) as (keyof typeof rest)[];
  return (
    old.length === tracks.length &&
    names.every(name => rest[name] === others[name]) &&
    old.every((track, i) => track.run === tracks[i]?.run && track.points === tracks[i].points)
  );
});

/** Latest and best value of one job. A click toggles between minimum and maximum. */
function Numbers(props: IProps & { track: ITrack; unit: Unit }): React.JSX.Element {
  const { name, tracks, track, unit, settings, trans, onBest } = props;
  const which = settings.best.get(name) ?? bestDirection(name);
  const last = latest(track.points);
  const bestPoint = best(track.points, which);
  const format = (value: number | undefined) => (value === undefined ? '–' : valueLabel(value, unit));
  return (
    <span className="jp-pai-Chart-numbers">
      {tracks.length > 1 && <Swatch index={track.run.index} />}
      <span className="jp-pai-Chart-latest">{format(last?.value)}</span>
      <button
        type="button"
        className="jp-pai-Chart-best"
        title={bestPoint ? trans.__('at step %1', bestPoint.step) : ''}
        aria-description={which === 'min' ? trans.__('Show maximum') : trans.__('Show minimum')}
        onClick={() => onBest(name, which === 'min' ? 'max' : 'min')}
      >
        {which === 'min' ? trans.__('min %1', format(bestPoint?.value)) : trans.__('max %1', format(bestPoint?.value))}
      </button>
    </span>
  );
}

/** Describe the chart as text. */
function describe({ name, tracks, settings, trans }: IProps, unit: Unit): string {
  const which = settings.best.get(name) ?? bestDirection(name);
  const descriptions = tracks.map(({ run, points }) => {
    const [last, bestPoint] = [latest(points), best(points, which)];
    const numbers = [
      trans.__('%1 points', points.end),
      last && trans.__('latest %1 at step %2', valueLabel(last.value, unit), last.step),
      bestPoint && `${which} ${valueLabel(bestPoint.value, unit)} ${trans.__('at step %1', bestPoint.step)}`
    ];
    const text = numbers.filter(part => part).join(', ');
    return tracks.length > 1 ? `${run.label}: ${text}` : text;
  });
  return `${visible(name)}: ${descriptions.join('; ')}`;
}

function lineCurveOf({ run, points }: ITrack, settings: IChartSettings, fine: FinePoints): ILineCurve {
  const finePoints = fine.get(run);
  const all = finePoints ? refined(points, finePoints.points, finePoints.first, finePoints.last) : points;
  return { index: run.index, label: run.label, curve: curve(all, settings.axis, run.start, settings.smoothing) };
}

/** Fetch finer points for the zoomed range. */
function useFinePoints({ name, tracks, settings, onError }: IProps, window: IRange | null): FinePoints {
  const [fine, setFine] = React.useState(NOTHING);
  React.useEffect(() => {
    setFine(NOTHING);
    if (!window) {
      return;
    }
    let isCurrent = true;
    const fetch = async ({ run, points }: ITrack) => {
      const within = stepsWithin(curve(points, settings.axis, run.start, 0), window.min, window.max);
      if (!within || isComplete(points)) {
        return;
      }
      const finePoints = (await run.model.read([name], { ...within, points: POINTS_PER_METRIC })).get(name);
      if (finePoints && isCurrent) {
        setFine(known => new Map([...known, [run, { points: finePoints, ...within }]]));
      }
    };
    Promise.all(tracks.map(fetch)).catch(onError);
    return () => {
      isCurrent = false;
    };
    // Not fetched again for each new point.
  }, [name, window, settings.axis, tracks.length]);
  return fine;
}

async function saveCsv({ name, tracks, onError }: IProps): Promise<void> {
  try {
    const texts = tracks.map(async ({ run, points }) => {
      const all = isComplete(points) ? points : ((await run.model.read([name])).get(name) ?? points);
      return csvOf(run.model.jobId, name, all);
    });
    const content = new Blob([CSV_HEAD, ...(await Promise.all(texts))], { type: 'text/csv' });
    saveFile(`${fileName(...tracks.map(track => track.run.model.jobId), name)}.csv`, content);
  } catch (error) {
    onError(error);
  }
}

async function savePicture({ name, tracks, onError }: IProps, plot: Plot | null, card: Element | null) {
  if (!plot || !card) {
    return;
  }
  const style = getComputedStyle(card);
  const legend = tracks.map(({ run }) => ({
    label: run.label,
    color: style.getPropertyValue(lineVariable(run.index)),
    dash: lineDash(run.index)
  }));
  try {
    saveFile(
      `${fileName(...tracks.map(track => track.run.model.jobId), name)}.png`,
      await pngOf(plot.canvas, card, name, legend)
    );
  } catch (error) {
    onError(error);
  }
}
