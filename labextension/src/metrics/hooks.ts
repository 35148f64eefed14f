/**
 * Hooks to follow the metrics of jobs.
 */

import * as React from 'react';

import type { MetricsModel } from './model.js';

interface IMetricsSource {
  readonly metrics: MetricsModel;
  /** The expected number of metrics. */
  readonly count: number;
}

/** Keep metrics up to date while the view is visible, and render again when they change. */
export function useMetrics(jobs: readonly IMetricsSource[], isVisible: boolean): void {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const slot = () => redraw();
    jobs.forEach(({ metrics }) => metrics.changed.connect(slot));
    return () => jobs.forEach(({ metrics }) => metrics.changed.disconnect(slot));
  }, [jobs]);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    jobs.forEach(({ metrics, count }) => metrics.follow(controller.signal, count));
    return () => controller.abort();
  }, [jobs, isVisible]);
}
