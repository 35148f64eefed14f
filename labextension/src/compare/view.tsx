/**
 * The comparison of several jobs: settings, results and common charts.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { JobModel } from '../api/jobmodel.js';
import type { IPoints } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';
import { valueLabel } from '../metrics/axislabels.js';
import { Charts } from '../metrics/charts.js';
import { useMetrics } from '../metrics/hooks.js';
import { MetricsModel } from '../metrics/model.js';
import { bestDirection, unitOf } from '../metrics/names.js';
import { Swatch } from '../metrics/palette.js';
import { best, latest } from '../metrics/points.js';
import { loadChartSettings } from '../metrics/settings.js';
import { startOf } from '../metrics/view.js';
import type { IContext } from '../ui/context.js';
import { useClock } from '../ui/context.js';
import { duration, moment, plural } from '../ui/format.js';
import { useKeptFocus } from '../ui/hooks.js';
import { StatusBadge } from '../ui/statusbadge.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { Difference } from './difference.js';
import { hyperparameterRows } from './differences.js';
import type { IRow, IRows } from './table.js';
import { Collapsible, CompareTable } from './table.js';
import { CompareBoard } from './tensorboard.js';

interface IProps extends IContext {
  readonly jobIds: readonly string[];
  /** A hidden view does no work. */
  readonly isVisible: boolean;
}

/** A job and its metrics. */
interface IComparedJob {
  readonly model: JobModel;
  readonly metrics: MetricsModel;
  readonly count: number;
}

const MOST_ROWS = 50;

export function Compare(props: IProps): React.JSX.Element {
  const { engine, trans, isVisible } = props;
  const ids = props.jobIds.join(' ');
  const all = React.useMemo(
    () =>
      [...new Set(ids.split(' '))].map((jobId): IComparedJob => {
        return {
          model: new JobModel(engine, jobId),
          metrics: new MetricsModel(engine, jobId),
          count: props.jobIds.length * 50
        };
      }),
    [engine, ids]
  );
  useJobs(all, isVisible);
  useMetrics(all, isVisible);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  const labels = labelsOf(all);
  const starts = all.map(({ model }) => startOf(model.job));
  const runs = React.useMemo(
    () =>
      all.map(({ metrics }, index) => ({
        model: metrics,
        label: labels[index] ?? '',
        start: starts[index] ?? 0,
        index
      })),
    [all, labels.join('\n'), starts.join()]
  );
  return (
    <section ref={box} className="jp-pai-Compare jp-pai-Charts" role="group" aria-label={trans.__('Job comparison')}>
      {all.map(({ model, metrics }) => {
        const error = model.error ?? metrics.error;
        return (
          error && (
            <p key={model.jobId} className="jp-pai-Job-trouble">
              {error.message} {error.fix}
            </p>
          )
        );
      })}
      <Tables {...props} all={all} labels={labels} />
      {all.length === 2 && (
        <Difference engine={engine} trans={trans} labels={labels} jobIds={all.map(({ model }) => model.jobId)} />
      )}
      <CompareBoard {...props} isEmpty={all.every(({ model }) => model.job?.tensorboard === false)} />
      {all.some(({ metrics }) => metrics.series.size > 0) && <Charts runs={runs} trans={trans} />}
    </section>
  );
}

/** Follow the jobs while the view is visible. */
function useJobs(all: readonly IComparedJob[], isVisible: boolean): void {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const slot = () => redraw();
    all.forEach(({ model }) => model.changed.connect(slot));
    return () => all.forEach(({ model }) => model.changed.disconnect(slot));
  }, [all]);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    all.forEach(({ model }) => model.follow(controller.signal));
    return () => controller.abort();
  }, [all, isVisible]);
}

/** Return the names of the jobs, with ids where names are equal. */
function labelsOf(all: readonly IComparedJob[]): string[] {
  const names = all.map(({ model }) => model.job?.name ?? model.jobId);
  return names.map((name, i) => {
    const jobId = all[i]?.model.jobId ?? '';
    return name !== jobId && names.filter(other => other === name).length > 1 ? `${name} (${jobId})` : name;
  });
}

function Tables(props: IProps & { all: readonly IComparedJob[]; labels: readonly string[] }): React.JSX.Element {
  const { all, labels, trans, host, isVisible } = props;
  const jobs = all.map(({ model }) => model.job);
  const now = useClock(isVisible && jobs.some(job => job?.startedAt && !hasEnded(job)));
  const { different, same } = hyperparameterRows(jobs);
  const metrics = metricRows(all);
  const heads = all.map(({ model }, i) => (
    <>
      <Swatch index={i} />{' '}
      {host.openJob ? (
        <button type="button" className="jp-pai-Link" title={model.jobId} onClick={() => host.openJob?.(model.jobId)}>
          {labels[i]}
        </button>
      ) : (
        labels[i]
      )}
    </>
  ));
  const textRows = (rows: readonly { name: string; values: readonly (string | null)[] }[]): IRow[] =>
    rows.map(({ name, values }) => ({
      name,
      cells: values.map(value => value ?? '–'),
      isOther: values.map((value, i) => jobs[i] !== null && value !== values[0])
    }));
  const facts: IRow[] = [
    { name: trans.__('Status'), cells: jobs.map(job => job && <StatusBadge status={job.status} trans={trans} />) },
    {
      name: trans.__('Duration'),
      cells: jobs.map(job => (job?.startedAt ? duration((job.endedAt ?? now) - job.startedAt, trans) : '–'))
    },
    ...(jobs.some(job => job?.reason)
      ? [{ name: trans.__('Reason'), cells: jobs.map(job => job?.reason.split('\n')[0] ?? '') }]
      : []),
    { name: trans.__('Submitted'), cells: jobs.map(job => moment(job?.submittedAt ?? null)) }
  ];
  const table = (label: string, rows: readonly IRow[], more?: IRows) => (
    <CompareTable label={label} heads={heads} rows={rows} more={more} />
  );
  return (
    <>
      {table(trans.__('Jobs and differing hyperparameters'), facts, {
        title: trans.__('Differing hyperparameters'),
        rows: textRows(different)
      })}
      {same.length > 0 && (
        <Collapsible
          title={plural(
            same.length,
            trans.__('%1 identical hyperparameter', same.length),
            trans.__('%1 identical hyperparameters', same.length)
          )}
        >
          {() => table(trans.__('Hyperparameters'), textRows(same))}
        </Collapsible>
      )}
      {metrics.length > 0 && (
        <Collapsible title={trans.__('Metrics: latest and best')} isOpen={metrics.length <= MOST_ROWS}>
          {() => table(trans.__('Metrics'), metrics)}
        </Collapsible>
      )}
    </>
  );
}

/** Return a row for each metric: latest and best value of each job. */
function metricRows(all: readonly IComparedJob[]): IRow[] {
  const directions = loadChartSettings().best;
  const names = new Set(all.flatMap(({ metrics }) => [...metrics.series.keys()]));
  return [...names].map(name => {
    const which = directions.get(name) ?? bestDirection(name);
    const format = (value: number | undefined) => (value === undefined ? '–' : valueLabel(value, unitOf(name)));
    const cell = (points: IPoints | undefined) =>
      points ? `${format(latest(points)?.value)} · ${which} ${format(best(points, which)?.value)}` : '–';
    return { name, cells: all.map(({ metrics }) => cell(metrics.series.get(name))) };
  });
}

export class CompareWidget extends ReactWidget {
  constructor(
    private readonly context: IContext,
    private readonly jobIds: readonly string[]
  ) {
    super();
    this.addClass('jp-pai-CompareWidget');
    this.node.lang = context.lang;
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <Compare {...this.context} jobIds={this.jobIds} isVisible={this.visibility.isVisible} />;
  }

  private readonly visibility: VisibilityObserver;
}
