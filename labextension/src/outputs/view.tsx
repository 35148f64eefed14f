/**
 * The tab Outputs of the job view: the files written so far, by channel.
 */

import * as React from 'react';

import { errorText } from '../api/engine.js';
import type { ITabProps } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { Channel } from './channel.js';
import { Downloads, useDownloads } from './downloads.js';
import type { IChannel, IQuery } from './model.js';
import { load, PAGE } from './model.js';

// Pause between two polls of an active job: at least PAUSE milliseconds, and PATIENCE times the duration of a poll.
const PAUSE = 3000;
const LOAD_FACTOR = 20;
const TYPING = 250;

export function Outputs(props: ITabProps): React.JSX.Element {
  const { trans, model } = props;
  useChanges(model);
  const [query, setQuery] = React.useState<IQuery>({ match: '', sort: 'path', isDescending: false });
  const listing = useListing(props, query);
  const downloads = useDownloads(props);
  const { channels, error, refresh } = listing;
  return (
    // Disables JupyterLab's cell shortcuts, such as Enter, for these buttons.
    <div className="jp-pai-Outputs" data-lm-suppress-shortcuts="true">
      <div className="jp-pai-Outputs-bar">
        <Filter {...props} change={match => setQuery(known => ({ ...known, match }))} />
        <button type="button" className="jp-pai-Button" onClick={refresh}>
          {trans.__('Refresh')}
        </button>
      </div>
      {error && (
        <p className="jp-pai-Job-trouble" role="alert">
          {error}
        </p>
      )}
      <Downloads {...props} downloads={downloads} />
      {channels?.map(channel => (
        <Channel
          key={channel.name}
          {...props}
          channel={channel}
          query={query}
          setQuery={setQuery}
          downloads={downloads}
          more={() => listing.more(channel)}
        />
      ))}
      {channels?.length === 0 && <p className="jp-pai-Outputs-note">{trans.__('The job has no output channels.')}</p>}
      {!channels && !error && <p className="jp-pai-Outputs-note">{trans.__('Loading files…')}</p>}
    </div>
  );
}

interface IListing {
  /** Null until loaded. */
  readonly channels: readonly IChannel[] | null;
  readonly error: string;
  readonly refresh: () => void;
  /** Load more files of a channel. */
  readonly more: (channel: IChannel) => void;
}

/** Return the files; polled while the job is active and the view is visible. */
function useListing({ engine, model, isVisible }: ITabProps, query: IQuery): IListing {
  const [channels, setChannels] = React.useState<readonly IChannel[] | null>(null);
  const [error, setError] = React.useState('');
  const [counts, setCounts] = React.useState<ReadonlyMap<string, number>>(new Map());
  const [round, refresh] = React.useReducer((n: number) => n + 1, 0);
  const { hasEnded, jobId } = model;
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const poll = async () => {
      const startedAt = performance.now();
      try {
        const loaded = await load((...args) => engine.call(...args), jobId, query, counts);
        if (!isStopped) {
          setChannels(loaded);
          setError('');
        }
      } catch (error) {
        if (!isStopped) {
          setError(errorText(error));
        }
      }
      if (!isStopped && !hasEnded) {
        timer = setTimeout(() => void poll(), Math.max(PAUSE, LOAD_FACTOR * (performance.now() - startedAt)));
      }
    };
    void poll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [engine, jobId, isVisible, hasEnded, query, counts, round]);
  const more = ({ name, files }: IChannel) => setCounts(known => new Map(known).set(name, files.length + 5 * PAGE));
  return { channels, error, refresh, more };
}

/** A filter field; `change` is called after a pause in typing. */
function Filter({ trans, change }: ITabProps & { change: (match: string) => void }): React.JSX.Element {
  const timer = React.useRef<ReturnType<typeof setTimeout>>(undefined);
  React.useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      className="jp-pai-Input"
      placeholder={trans.__('Filter by path')}
      aria-label={trans.__('Filter by path')}
      onChange={event => {
        const match = event.target.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => change(match), TYPING);
      }}
    />
  );
}
