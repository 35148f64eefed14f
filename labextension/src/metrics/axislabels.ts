/**
 * Labels of chart axes and values.
 */

import { count, moment, shortNumber, size } from '../ui/format.js';
import type { Axis } from './curves.js';
import type { Unit } from './names.js';

/** Format a position on the x axis; `gap` is the distance of two labels. */
export function axisLabel(axis: Axis, x: number, gap: number): string {
  switch (axis) {
    case 'step':
      return Number.isInteger(x) ? count(x) : '';
    case 'elapsed':
      return elapsed(x, gap);
    case 'clock':
      return clock(x, gap);
  }
}

/** Format a position on the x axis in full. */
export function positionLabel(axis: Axis, x: number): string {
  return axis === 'clock' ? moment(x * 1000) : axisLabel(axis, x, axis === 'elapsed' ? 0.1 : 1);
}

/** Format a value with its unit. */
export function valueLabel(value: number, unit: Unit): string {
  if (!Number.isFinite(value)) {
    return String(value);
  }
  switch (unit) {
    case 'bytes':
      return value < 0 ? shortNumber(value) : size(value);
    case 'percent':
      return `${shortNumber(value)} %`;
    default:
      return shortNumber(value);
  }
}

function elapsed(seconds: number, gap: number): string {
  const sign = seconds < 0 ? '−' : '';
  const absolute = Math.abs(seconds);
  if (absolute < 60) {
    return `${sign}${gap < 1 ? Number(absolute.toFixed(3)) : Math.round(absolute)} s`;
  }
  const [hours, minutes] = [Math.floor(absolute / 3600), Math.floor((absolute % 3600) / 60)];
  const tail = gap < 60 ? `:${String(Math.floor(absolute % 60)).padStart(2, '0')}` : '';
  return hours || !tail
    ? `${sign}${hours}:${String(minutes).padStart(2, '0')}${tail}${tail ? '' : ' h'}`
    : `${sign}${minutes}${tail} min`;
}

function clock(seconds: number, gap: number): string {
  if (gap >= 86_400) {
    return moment(seconds * 1000, { month: 'numeric', day: 'numeric' });
  }
  const parts: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  return moment(seconds * 1000, gap < 60 ? { ...parts, second: '2-digit' } : parts);
}
