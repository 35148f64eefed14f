/**
 * Filters and order of the job list.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import type { IJob, JobStatus } from '../api/wire.js';
import { record, strings } from '../api/wire.js';
import type { IHost } from '../host/host.js';
import { statusName } from '../ui/statusbadge.js';
import type { IQuery, Sort } from './model.js';

interface IProps {
  readonly engine: IEngine;
  readonly host: IHost;
  readonly trans: TranslationBundle;
  readonly query: IQuery;
  /** The loaded jobs; their labels and notebooks are offered as suggestions. */
  readonly known: readonly IJob[];
  readonly search: (change: Partial<IQuery>) => void;
}

const STATUSES: readonly JobStatus[] = ['queued', 'starting', 'running', 'succeeded', 'failed', 'stopped', 'lost'];
const ACTIVE: readonly JobStatus[] = ['queued', 'starting', 'running'];
// Milliseconds after the last keystroke.
const PAUSE = 200;

export function JobFilters(props: IProps): React.JSX.Element {
  const { query, known, search, trans } = props;
  const labelsId = React.useId();
  const labelTexts = known.flatMap(job => [...job.labels].map(([key, value]) => `${key}=${value}`));
  return (
    <div className="jp-pai-JobFilters" role="search" aria-label={trans.__('Filter jobs')}>
      <SearchField label={trans.__('Search by name')} value={query.name} onChange={name => search({ name })} />
      <StatusChoice statuses={query.statuses} onChange={statuses => search({ statuses })} trans={trans} />
      <Order {...props} />
      <Backends {...props} />
      <Notebooks {...props} />
      <SearchField
        label={trans.__('Label (KEY=VALUE)')}
        value={query.label}
        options={labelsId}
        // Incomplete labels are not applied.
        onChange={label => (label === '' || label.includes('=')) && search({ label })}
      />
      <datalist id={labelsId}>
        {[...new Set(labelTexts)].sort().map(label => (
          <option key={label} value={label} />
        ))}
      </datalist>
    </div>
  );
}

interface ISearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly options?: string;
}

/** A search field that applies its text after a pause in typing. */
export function SearchField({ label, value, onChange, options }: ISearchFieldProps): React.JSX.Element {
  const [text, setText] = React.useState(value);
  const latest = React.useRef(onChange);
  latest.current = onChange;
  React.useEffect(() => setText(value), [value]);
  React.useEffect(() => {
    if (text === value) {
      return;
    }
    const timer = setTimeout(() => latest.current(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      list={options}
      spellCheck={false}
      onChange={event => setText(event.target.value)}
    />
  );
}

interface IStatusChoiceProps {
  /** Those to show; none for all. */
  readonly statuses: readonly JobStatus[];
  readonly onChange: (statuses: readonly JobStatus[]) => void;
  readonly trans: TranslationBundle;
}

export function StatusChoice({ statuses, onChange, trans }: IStatusChoiceProps): React.JSX.Element {
  const value = statuses.length > 1 ? 'live' : (statuses[0] ?? '');
  const choose = (choice: string) =>
    onChange(choice === 'live' ? ACTIVE : STATUSES.filter(status => status === choice));
  return (
    <select aria-label={trans.__('Status')} value={value} onChange={event => choose(event.target.value)}>
      <option value="">{trans.__('Any status')}</option>
      <option value="live">{trans.__('Active')}</option>
      {STATUSES.map(status => (
        <option key={status} value={status}>
          {statusName(status, trans)}
        </option>
      ))}
    </select>
  );
}

/** Shown if there is more than one backend. */
function Backends({ engine, query, search, trans }: IProps): React.JSX.Element | null {
  const [backends, setKnown] = React.useState<readonly string[]>([]);
  React.useEffect(() => {
    let isCurrent = true;
    engine.call('about').then(
      about => isCurrent && setKnown(strings(record(about)['backends'])),
      () => undefined // The list reports the error.
    );
    return () => {
      isCurrent = false;
    };
  }, [engine]);
  if (backends.length < 2) {
    return null;
  }
  return (
    <select
      aria-label={trans.__('Backend')}
      value={query.backend}
      onChange={event => search({ backend: event.target.value })}
    >
      <option value="">{trans.__('Any backend')}</option>
      {backends.map(backend => (
        <option key={backend}>{backend}</option>
      ))}
    </select>
  );
}

/** The current notebook is listed first. */
function Notebooks({ host, query, known, search, trans }: IProps): React.JSX.Element | null {
  const [current, setKnown] = React.useState('');
  React.useEffect(() => {
    const controller = new AbortController();
    host.watchDocument?.(path => path.endsWith('.ipynb') && setKnown(path), controller.signal);
    return () => controller.abort();
  }, [host]);
  // The server stores absolute paths; paths of this page are relative to the server root.
  const others = [query.notebook, ...known.map(job => job.notebook)]
    .filter(path => path && path !== current && (path === query.notebook || !current || !path.endsWith(`/${current}`)))
    .sort();
  if (!current && !others.length) {
    return null;
  }
  return (
    <select
      aria-label={trans.__('Notebook')}
      value={query.notebook}
      onChange={event => search({ notebook: event.target.value })}
    >
      <option value="">{trans.__('Any notebook')}</option>
      {current && (
        <option value={current} title={current}>
          {trans.__('This notebook: %1', nameOf(current))}
        </option>
      )}
      {[...new Set(others)].map(path => (
        <option key={path} value={path} title={path}>
          {nameOf(path)}
        </option>
      ))}
    </select>
  );
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function Order({ query, search, trans }: IProps): React.JSX.Element {
  const orders: readonly [Sort, 'asc' | 'desc', string][] = [
    ['submitted', 'desc', trans.__('Newest first')],
    ['submitted', 'asc', trans.__('Oldest first')],
    ['name', 'asc', trans.__('By name')],
    ['status', 'asc', trans.__('By status')],
    ['took', 'desc', trans.__('Longest first')],
    ['took', 'asc', trans.__('Shortest first')]
  ];
  const value = orders.findIndex(([sort, order]) => sort === query.sort && order === query.order);
  const onChange = (index: number) => {
    const [sort, order] = orders[index] ?? ['submitted', 'desc'];
    search({ sort, order });
  };
  return (
    <select aria-label={trans.__('Sort by')} value={value} onChange={event => onChange(Number(event.target.value))}>
      {orders.map(([, , text], index) => (
        <option key={text} value={index}>
          {text}
        </option>
      ))}
    </select>
  );
}
