/**
 * Settings of all charts of a view, filter and CSV export.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { Axis } from './curves.js';
import type { IChartSettings } from './settings.js';

interface IProps {
  readonly trans: TranslationBundle;
  readonly settings: IChartSettings;
  readonly onSettings: (settings: IChartSettings) => void;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** Number of all metrics, and of those shown. */
  readonly total: number;
  readonly shown: number;
  readonly onSave: () => void;
  readonly isSaving: boolean;
}

const FILTER_THRESHOLD = 8;

export function ChartBar(props: IProps): React.JSX.Element {
  const { trans, settings, onSettings, filter, total, shown } = props;
  const axes: Readonly<Record<Axis, string>> = {
    step: trans.__('Step'),
    elapsed: trans.__('Relative time'),
    clock: trans.__('Wall time')
  };
  return (
    <div className="jp-pai-ChartBar" role="group" aria-label={trans.__('Chart settings')}>
      {(total > FILTER_THRESHOLD || filter) && (
        <label>
          {trans.__('Metrics')}
          <input
            type="search"
            value={filter}
            placeholder={trans.__('filter by name')}
            onChange={event => props.onFilter(event.target.value)}
          />
          <span role="status">{filter && trans.__('%1 of %2', shown, total)}</span>
        </label>
      )}
      <label>
        {trans.__('X axis')}
        <select
          value={settings.axis}
          onChange={event =>
            onSettings({
              ...settings,
              axis: (Object.keys(axes) as Axis[]).find(axis => axis === event.target.value) ?? 'step'
            })
          }
        >
          {Object.entries(axes).map(([axis, text]) => (
            <option key={axis} value={axis}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        {trans.__('Smoothing')}
        <input
          type="range"
          min={0}
          max={0.99}
          step={0.01}
          value={settings.smoothing}
          onChange={event => onSettings({ ...settings, smoothing: Number(event.target.value) })}
        />
        <output>{settings.smoothing.toFixed(2)}</output>
      </label>
      <label>
        <input
          type="checkbox"
          checked={settings.isLog}
          onChange={event => onSettings({ ...settings, isLog: event.target.checked })}
        />
        {trans.__('Log scale')}
      </label>
      <button type="button" disabled={props.isSaving} onClick={props.onSave}>
        {props.isSaving ? trans.__('Saving…') : trans.__('Save all as CSV')}
      </button>
    </div>
  );
}
