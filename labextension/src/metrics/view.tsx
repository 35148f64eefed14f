/**
 * The tab Metrics of the job view.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IJob } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { Charts } from './charts.js';
import { useMetrics } from './hooks.js';
import { MetricsModel } from './model.js';
import { Texts } from './texts.js';

export function Metrics({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element {
  const { jobId, job } = model;
  const metrics = React.useMemo(() => new MetricsModel(engine, jobId), [engine, jobId]);
  const jobs = React.useMemo(() => [{ metrics, count: job?.metrics.size ?? 0 }], [metrics]);
  useMetrics(jobs, isVisible);
  const start = startOf(job);
  const label = job?.name ?? jobId;
  const runs = React.useMemo(() => [{ model: metrics, label, start, index: 0 }], [metrics, label, start]);
  const { error, series, isComplete } = metrics;
  const hasOwn = [...series.keys()].some(name => !name.startsWith('system/'));
  return (
    <div className="jp-pai-Metrics">
      {error && (
        <p className="jp-pai-Job-trouble">
          {error.message} {error.fix}
        </p>
      )}
      {!hasOwn && !job?.metrics.size && <Empty trans={trans} isOver={isComplete} />}
      {series.size > 0 && <Charts runs={runs} trans={trans} />}
      <Texts engine={engine} jobId={jobId} trans={trans} />
    </div>
  );
}

/** Return the start of a job, in seconds since 1970. */
export function startOf(job: IJob | null): number {
  return (job?.startedAt ?? job?.submittedAt ?? 0) / 1000;
}

/** Instructions for logging metrics. */
function Empty({ trans, isOver }: { trans: TranslationBundle; isOver: boolean }): React.JSX.Element {
  return (
    <div className="jp-pai-Metrics-empty">
      <p>{isOver ? trans.__('This job logged no metrics.') : trans.__('No metrics logged yet.')}</p>
      <ul>
        <li>
          {trans.__('Print them in a common form, such as')} <code>loss=0.1</code>
        </li>
        <li>
          {trans.__('Read metrics from the log with a pattern:')} <code>{"--metric 'loss=loss=([0-9.]+)'"}</code>
        </li>
        <li>
          {trans.__('Report metrics from the script:')}{' '}
          <code>from jupyter_pai import report; report.metric("loss", 0.1, step=3)</code>
        </li>
        <li>
          {trans.__('Write TensorBoard files to')} <code>PAI_OUTPUT_TENSORBOARD</code>
        </li>
      </ul>
    </div>
  );
}
