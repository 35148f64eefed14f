/**
 * Chart settings, stored in the browser.
 */

import { number, parseMap, record, string } from '../api/wire.js';
import type { Axis } from './curves.js';
import type { Best } from './points.js';

export interface IChartSettings {
  readonly axis: Axis;
  /** Smoothing weight: 0 to 0.99. */
  readonly smoothing: number;
  readonly isLog: boolean;
  /** Choices of minimum or maximum by metric, where the user made one. */
  readonly best: ReadonlyMap<string, Best>;
}

const KEY = 'jupyter-pai:charts';
const AXES: readonly string[] = ['step', 'elapsed', 'clock'];
const MAX_CHOICES = 200;

/** Parse settings; invalid values become the defaults. */
export function parseChartSettings(text: string): IChartSettings {
  const data = record(json(text));
  const axis = string(data['axis']);
  const choices = [...parseMap(data['best'], string)].filter((entry): entry is [string, Best] => isBest(entry[1]));
  return {
    axis: isAxis(axis) ? axis : 'step',
    smoothing: Math.min(Math.max(number(data['smoothing']) ?? 0, 0), 0.99),
    isLog: data['isLog'] === true,
    best: new Map(choices.slice(-MAX_CHOICES))
  };
}

export function chartSettingsText(settings: IChartSettings): string {
  return JSON.stringify({ ...settings, best: Object.fromEntries([...settings.best].slice(-MAX_CHOICES)) });
}

/** Load the stored settings of this browser. */
export function loadChartSettings(): IChartSettings {
  try {
    return parseChartSettings(localStorage.getItem(KEY) ?? '');
  } catch {
    return parseChartSettings(''); // Storage may be disabled.
  }
}

export function saveChartSettings(settings: IChartSettings): void {
  try {
    localStorage.setItem(KEY, chartSettingsText(settings));
  } catch {
    // The settings are lost when the view is closed.
  }
}

function isAxis(word: string): word is Axis {
  return AXES.includes(word);
}

function isBest(word: string): word is Best {
  return word === 'min' || word === 'max';
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
