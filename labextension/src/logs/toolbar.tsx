/**
 * Toolbar of a log: search, go to line, instance, copy and download.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { count, plural } from '../ui/format.js';
import type { ILogMatch, ILogQuery } from './pager.js';

interface ISearchProps {
  readonly trans: TranslationBundle;
  /**
   * Run a search. `step` is 0 for the first match from the visible lines, 1 for the next and -1 for the previous match.
   */
  readonly search: (query: ILogQuery | null, step: -1 | 0 | 1) => void;
  readonly match: ILogMatch | null;
  readonly error: string;
  readonly field: React.RefObject<HTMLInputElement>;
  readonly close: () => void;
}

const PAUSE = 250;

export function LogSearch({ trans, search, match, error, field, close }: ISearchProps): React.JSX.Element {
  const [query, setQuery] = React.useState<ILogQuery>({ text: '', regex: false, case: false });
  const latestSearch = React.useRef(search);
  latestSearch.current = search;
  React.useEffect(() => {
    // Search after a pause in typing.
    const timer = setTimeout(() => latestSearch.current(query.text ? query : null, 0), PAUSE);
    return () => clearTimeout(timer);
  }, [query]);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' && query.text) {
      event.preventDefault();
      search(query, event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      event.preventDefault(); // Escape would otherwise return to the notebook.
      setQuery({ ...query, text: '' });
      close();
    }
  };
  const toggle = (name: 'case' | 'regex', title: string, sign: string) => (
    <button
      type="button"
      aria-pressed={query[name]}
      title={title}
      aria-label={title}
      onClick={() => setQuery({ ...query, [name]: !query[name] })}
    >
      {sign}
    </button>
  );
  const step = (by: -1 | 1, title: string, sign: string) => (
    <button type="button" title={title} aria-label={title} disabled={!query.text} onClick={() => search(query, by)}>
      {sign}
    </button>
  );
  return (
    <div className="jp-pai-Log-search" role="search" aria-label={trans.__('Search the log')}>
      <input
        ref={field}
        type="text"
        value={query.text}
        maxLength={1000}
        spellCheck={false}
        placeholder={trans.__('Search')}
        aria-label={trans.__('Search the log')}
        onChange={event => setQuery({ ...query, text: event.target.value })}
        onKeyDown={onKeyDown}
      />
      {toggle('case', trans.__('Match case'), 'Aa')}
      {toggle('regex', trans.__('Regular expression'), '.*')}
      {step(-1, trans.__('Previous match'), '↑')}
      {step(1, trans.__('Next match'), '↓')}
      <span className="jp-pai-Log-hits" role="status">
        {error || (query.text && match && matchCount(match, trans))}
      </span>
    </div>
  );
}

function matchCount(match: ILogMatch, trans: TranslationBundle): string {
  const total = count(match.total) + (match.isComplete ? '' : '+');
  return match.line === null
    ? match.isComplete && !match.total
      ? trans.__('No results')
      : plural(match.total, trans.__('%1 line', total), trans.__('%1 lines', total))
    : trans.__('%1 of %2 lines', count(match.position), total);
}

interface IGotoProps {
  readonly trans: TranslationBundle;
  readonly go: (text: string) => void;
}

/** A field for a line number or a time. */
export function Goto({ trans, go }: IGotoProps): React.JSX.Element {
  const [text, setText] = React.useState('');
  return (
    <input
      className="jp-pai-Log-goto"
      type="text"
      value={text}
      placeholder={trans.__('Go to line or time')}
      title={trans.__('Enter a line number, or a time such as 14:03 or 14:03:20')}
      aria-label={trans.__('Go to line or time')}
      onChange={event => setText(event.target.value)}
      onKeyDown={event => {
        if (event.key === 'Enter') {
          event.preventDefault();
          go(text);
        }
      }}
    />
  );
}

interface IInstanceProps {
  readonly trans: TranslationBundle;
  readonly instances: readonly string[];
  readonly value: string | null;
  readonly onChange: (instance: string | null) => void;
}

/** The choice of an instance; nothing if there is only one. */
export function InstanceChoice({ trans, instances, value, onChange }: IInstanceProps): React.JSX.Element | null {
  if (instances.length < 2) {
    return null;
  }
  return (
    <select
      value={value ?? ''}
      aria-label={trans.__('Instance')}
      onChange={event => onChange(event.target.value || null)}
    >
      <option value="">{trans.__('All instances, by time')}</option>
      {instances.map(name => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
