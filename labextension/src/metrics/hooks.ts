/**
 * Hooks to follow the metrics of jobs.
 */

import * as React from 'react';

import type { MetricsModel } from './model.js';

interface IFollowed {
  readonly metrics: MetricsModel;
  /** The expected number of metrics. */
  readonly count: number;
}

/** Keep metrics up to date while the view is visible, and render again when they change. */
export function useFollowed(jobs: readonly IFollowed[], isVisible: boolean): void {
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
    const life = new AbortController();
    jobs.forEach(({ metrics, count }) => metrics.follow(life.signal, count));
    return () => life.abort();
  }, [jobs, isVisible]);
}
