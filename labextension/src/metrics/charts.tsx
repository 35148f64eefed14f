/**
 * The charts of one or several jobs, in groups, with common settings.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { errorText } from '../api/engine.js';
import { saveFile } from '../ui/savefile.js';
import { useTheme } from '../ui/visibility.js';
import type { IRun } from './chart.js';
import { Chart } from './chart.js';
import { CSV_HEAD, csvOf, fileName } from './csv.js';
import type { MetricsModel } from './model.js';
import type { IGroup } from './names.js';
import { groupMetrics, SYSTEM } from './names.js';
import { Swatch } from './palette.js';
import type { Best } from './points.js';
import type { IChartSettings } from './settings.js';
import { loadChartSettings, saveChartSettings } from './settings.js';
import { ChartBar } from './toolbar.js';

interface IProps {
  readonly runs: readonly IRun[];
  readonly trans: TranslationBundle;
}

// Limits of one request when all metrics are exported: points, and names, since they are part of the URL.
const MAX_POINTS = 200_000;
const MAX_NAMES = 50;

export function Charts(props: IProps): React.JSX.Element {
  const { runs, trans } = props;
  const [settings, setSettings] = useSettings();
  const [filter, setFilter] = React.useState('');
  const [hidden, setHidden] = React.useState<ReadonlySet<string>>(new Set());
  const [error, setError] = React.useState('');
  const [isSaving, setSaving] = React.useState(false);
  const names = [...new Set(runs.flatMap(run => [...run.model.series.keys()]))];
  const matching = names.filter(name => name.toLowerCase().includes(filter.trim().toLowerCase()));
  const onError = React.useCallback((reason: unknown) => setError(errorText(reason)), []);
  const save = async () => {
    setSaving(true);
    try {
      const parts = (await Promise.all(runs.map(allPoints))).flat();
      saveFile(`${fileName(...runs.map(run => run.model.jobId), 'metrics')}.csv`, new Blob([CSV_HEAD, ...parts]));
    } catch (error) {
      setError(errorText(error));
    } finally {
      setSaving(false);
    }
  };
  const toggle = (id: string) =>
    setHidden(known => new Set(known.has(id) ? [...known].filter(hidden => hidden !== id) : [...known, id]));
  return (
    <div className="jp-pai-Charts">
      <ChartBar
        {...{ trans, settings, filter, isSaving }}
        onSettings={setSettings}
        onFilter={setFilter}
        total={names.length}
        shown={matching.length}
        onSave={() => void save()}
      />
      {error && (
        <p className="jp-pai-Job-trouble" role="alert">
          {error}
        </p>
      )}
      {runs.length > 1 && <Legend {...props} hidden={hidden} onToggle={toggle} />}
      <Groups
        {...{ trans, settings, onError }}
        runs={runs.filter(run => !hidden.has(run.model.jobId))}
        groups={groupMetrics(matching)}
        onSettings={setSettings}
      />
    </div>
  );
}

/** The legend. A click hides or shows the lines of a job. */
function Legend({
  runs,
  trans,
  hidden,
  onToggle
}: IProps & { hidden: ReadonlySet<string>; onToggle: (id: string) => void }): React.JSX.Element {
  return (
    <div className="jp-pai-Charts-legend" role="group" aria-label={trans.__('Jobs in the charts')}>
      {runs.map(({ model, label, index }) => (
        <button
          key={model.jobId}
          type="button"
          aria-pressed={!hidden.has(model.jobId)}
          title={model.jobId}
          onClick={() => onToggle(model.jobId)}
        >
          <Swatch index={index} /> {label}
        </button>
      ))}
    </div>
  );
}

interface IGroupsProps extends IProps {
  readonly groups: readonly IGroup[];
  readonly settings: IChartSettings;
  readonly onSettings: (settings: IChartSettings) => void;
  readonly onError: (reason: unknown) => void;
}

function Groups(props: IGroupsProps): React.JSX.Element {
  const { groups, runs, trans, settings, onSettings, onError } = props;
  const syncKey = React.useId();
  const theme = useTheme();
  const onBest = React.useCallback(
    (name: string, which: Best) => onSettings({ ...settings, best: new Map([...settings.best, [name, which]]) }),
    [settings, onSettings]
  );
  const chart = (name: string) => {
    const tracks = runs.flatMap(run => {
      const points = run.model.series.get(name);
      return points ? [{ run, points }] : [];
    });
    return (
      tracks.length > 0 && <Chart key={name} {...{ name, tracks, settings, onBest, onError, syncKey, theme, trans }} />
    );
  };
  return (
    <>
      {groups.map(({ key, names }) => (
        <Group key={key} title={titleOf(key, trans)} hasTitle={groups.length > 1 || key !== ''} count={names.length}>
          {() => names.map(chart)}
        </Group>
      ))}
    </>
  );
}

function titleOf(key: string, trans: TranslationBundle): string {
  return key === SYSTEM ? trans.__('System') : key || trans.__('Metrics');
}

/** Collapsible charts under a title. */
function Group(props: {
  readonly title: string;
  readonly hasTitle: boolean;
  readonly count: number;
  readonly children: () => React.ReactNode;
}): React.JSX.Element {
  const [isOpen, setOpen] = React.useState(true);
  const id = React.useId();
  return (
    <section aria-labelledby={props.hasTitle ? id : undefined}>
      {props.hasTitle && (
        <h4 className="jp-pai-Charts-group">
          <button type="button" id={id} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {`${props.title} (${props.count})`}
          </button>
        </h4>
      )}
      {isOpen && <div className="jp-pai-Charts-grid">{props.children()}</div>}
    </section>
  );
}

/** Return all points of a job as CSV, one text per metric. */
async function allPoints({ model }: IRun): Promise<string[]> {
  const texts: string[] = [];
  for (const names of batches(model)) {
    const series = await model.read(names);
    texts.push(...[...series].map(([name, points]) => csvOf(model.jobId, name, points)));
  }
  return texts;
}

function batches(model: MetricsModel): string[][] {
  const groups: string[][] = [];
  let points = Infinity;
  for (const [name, { end }] of model.series) {
    const last = groups.at(-1);
    if (last && points + end <= MAX_POINTS && last.length < MAX_NAMES) {
      last.push(name);
      points += end;
    } else {
      groups.push([name]);
      points = end;
    }
  }
  return groups;
}

function useSettings(): [IChartSettings, (settings: IChartSettings) => void] {
  const [settings, setSettings] = React.useState(loadChartSettings);
  const change = React.useCallback((changed: IChartSettings) => {
    setSettings(changed);
    saveChartSettings(changed);
  }, []);
  return [settings, change];
}
