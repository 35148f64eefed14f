/**
 * Export of points as CSV, with full precision.
 */

import type { IPoints } from '../api/wire.js';

/** The header line. */
export const CSV_HEAD = 'job,metric,step,time,value\n';

/** Return the points of one metric as CSV; times are ISO 8601 in UTC. */
export function csvOf(jobId: string, metric: string, points: IPoints): string {
  const prefix = `${field(jobId)},${field(metric)},`;
  return points.step
    .map((step, i) => `${prefix}${step},${moment(points.time[i] ?? NaN)},${points.value[i] ?? NaN}\n`)
    .join('');
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function moment(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/** Return a file name that is valid on all systems. */
export function fileName(...parts: readonly string[]): string {
  return parts
    .join('-')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .slice(0, 120);
}
