/**
 * One output channel: its location and its files.
 */

import * as React from 'react';

import { hasEnded, visible } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { count, fileCount, moment, size } from '../ui/format.js';
import type { IDownloads } from './downloads.js';
import type { Column, IChannel, IOutputFile, IQuery } from './model.js';
import { joinPath, outputVariable, splitPath } from './model.js';
import { Preview } from './preview.js';
import { RegisteredModels } from './registermodel.js';

// The channel whose files are registered as models.
const MODEL = 'model';

interface IProps extends ITabProps {
  readonly channel: IChannel;
  readonly query: IQuery;
  readonly setQuery: (change: (known: IQuery) => IQuery) => void;
  readonly downloads: IDownloads;
  readonly more: () => void;
}

export function Channel(props: IProps): React.JSX.Element {
  const { trans, channel } = props;
  const [isOpen, setOpen] = React.useState<boolean | null>(null);
  const summary = channel.count > 0 ? fileCount(channel.count, channel.bytes, trans) : trans.__('empty');
  return (
    <details
      className="jp-pai-Channel"
      data-channel={channel.name}
      open={isOpen ?? true}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span className="jp-pai-Channel-name">{channel.name}</span>{' '}
        <span className="jp-pai-Channel-facts">{channel.state === 'gone' ? trans.__('removed') : summary}</span>
      </summary>
      {isOpen !== false && <Body {...props} />}
    </details>
  );
}

function Body(props: IProps): React.JSX.Element {
  const { trans, channel, downloads, host } = props;
  const { job } = props.model;
  const [selected, setSelected] = React.useState<ReadonlySet<string>>(new Set());
  const paths = channel.files.filter(file => selected.has(file.path)).map(file => file.path);
  const copyAddress = () =>
    void navigator.clipboard.writeText(channel.uri).then(
      () => host.notify(trans.__('Path copied.'), 'success'),
      () => host.notify(trans.__('The browser blocked copying.'), 'warning')
    );
  return (
    <>
      <div className="jp-pai-Outputs-bar">
        <code className="jp-pai-Channel-uri">{channel.uri}</code>
        <button type="button" className="jp-pai-Button" onClick={copyAddress}>
          {trans.__('Copy path')}
        </button>
        {downloads.canStart && channel.count > 0 && (
          <button type="button" className="jp-pai-Button" onClick={() => void downloads.start(channel.name, null)}>
            {trans.__('Copy all to workspace…')}
          </button>
        )}
        {downloads.canStart && paths.length > 0 && (
          <button type="button" className="jp-pai-Button" onClick={() => void downloads.start(channel.name, paths)}>
            {trans.__('Copy %1 selected…', paths.length)}
          </button>
        )}
      </div>
      {channel.name === MODEL && job?.registry && hasEnded(job) && (
        <RegisteredModels
          {...props}
          job={job}
          channel={channel.name}
          isEmpty={channel.count === 0 && !channel.problem}
        />
      )}
      <Note {...props} />
      {channel.files.length > 0 && <Files {...props} selected={selected} setSelected={setSelected} />}
      {channel.files.length < channel.matching && (
        <p className="jp-pai-Outputs-note">
          {trans.__('Showing %1 of %2 files.', channel.files.length, count(channel.matching))}{' '}
          <button type="button" className="jp-pai-Button" onClick={props.more}>
            {trans.__('Show more')}
          </button>
        </p>
      )}
    </>
  );
}

/** The reason why there are no files, and how to write some. */
function Note({ trans, channel, model }: IProps): React.JSX.Element | null {
  const name = outputVariable(channel.name);
  let text = '';
  if (channel.state === 'unknown') {
    text = channel.problem;
  } else if (channel.state === 'gone') {
    text = trans.__('This folder has been removed.');
  } else if (channel.count === 0 && model.hasEnded) {
    text = trans.__('Empty. Write files to $%1 to save them here.', name);
  } else if (channel.count === 0) {
    text = trans.__('No files yet. Files written to $%1 appear here.', name);
  } else if (channel.matching === 0) {
    text = trans.__('No matching files.');
  }
  return text ? <p className="jp-pai-Outputs-note">{text}</p> : null;
}

interface IFilesProps extends IProps {
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (paths: ReadonlySet<string>) => void;
}

function Files(props: IFilesProps): React.JSX.Element {
  const { trans, channel, selected, setSelected, downloads } = props;
  const readable = channel.files.filter(file => !file.problem).map(file => file.path);
  const areAllChosen = readable.length > 0 && readable.every(path => selected.has(path));
  return (
    <table className="jp-pai-Files">
      <thead>
        <tr>
          {downloads.canStart && (
            <th>
              <input
                type="checkbox"
                aria-label={trans.__('Select all shown files')}
                checked={areAllChosen}
                onChange={() => setSelected(new Set(areAllChosen ? [] : readable))}
              />
            </th>
          )}
          <Heading {...props} column="path" title={trans.__('File')} />
          <Heading {...props} column="bytes" title={trans.__('Size')} />
          <Heading {...props} column="modified" title={trans.__('Modified')} />
          <th>
            <span className="jp-pai-Heard">{trans.__('Actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {channel.files.map(file => (
          <Row key={file.path} {...props} file={file} />
        ))}
      </tbody>
    </table>
  );
}

/** A column header that sorts by its column. */
function Heading({ column, title, query, setQuery }: IProps & { column: Column; title: string }): React.JSX.Element {
  const isSorted = query.sort === column;
  const order = query.isDescending ? 'descending' : 'ascending';
  const sort = () => setQuery(known => ({ ...known, sort: column, isDescending: isSorted && !known.isDescending }));
  return (
    <th data-column={column} aria-sort={isSorted ? order : 'none'}>
      <button type="button" className="jp-pai-Files-sort" onClick={sort}>
        {title}
        <span aria-hidden="true">{isSorted ? (query.isDescending ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </th>
  );
}

function Row(props: IFilesProps & { file: IOutputFile }): React.JSX.Element {
  const { trans, channel, file, selected, setSelected, downloads } = props;
  const [isOpen, setOpen] = React.useState(false);
  const [folder, name] = splitPath(visible(file.path));
  const toggle = () => {
    const paths = new Set(selected);
    if (!paths.delete(file.path)) {
      paths.add(file.path);
    }
    setSelected(paths);
  };
  const label = (
    <>
      <span className="jp-pai-Files-folder">{folder}</span>
      {name}
    </>
  );
  return (
    <>
      <tr data-path={file.path}>
        {downloads.canStart && (
          <td>
            <input
              type="checkbox"
              aria-label={trans.__('Select %1', visible(file.path))}
              disabled={file.problem !== ''}
              checked={selected.has(file.path)}
              onChange={toggle}
            />
          </td>
        )}
        <td className="jp-pai-Files-path">
          {file.problem ? (
            label
          ) : (
            <button type="button" aria-expanded={isOpen} title={trans.__('Preview')} onClick={() => setOpen(!isOpen)}>
              {label}
            </button>
          )}
        </td>
        {file.problem ? (
          <td className="jp-pai-Files-problem" colSpan={3}>
            {file.problem}
          </td>
        ) : (
          <>
            <td data-column="bytes">{size(file.bytes)}</td>
            <td data-column="modified">{moment(file.modified)}</td>
            <td className="jp-pai-Files-actions">
              <FileActions {...props} />
            </td>
          </>
        )}
      </tr>
      {isOpen && (
        <tr>
          <td className="jp-pai-Files-preview" colSpan={downloads.canStart ? 5 : 4}>
            <Preview {...props} channel={channel.name} />
          </td>
        </tr>
      )}
    </>
  );
}

function FileActions(props: IProps & { file: IOutputFile }): React.JSX.Element {
  const { engine, trans, model, channel, file, downloads, host } = props;
  const url = engine.url('file', { job: model.jobId, channel: channel.name, path: file.path });
  const originalPath = channel.workspacePath === null ? null : joinPath(channel.workspacePath, file.path);
  const path = downloads.copiedPath(channel.name, file.path) ?? originalPath;
  return (
    <>
      {url !== null && (
        <a className="jp-pai-Link" href={url} download={splitPath(file.path)[1]}>
          {trans.__('Download')}
        </a>
      )}
      {downloads.canStart && (
        <button type="button" className="jp-pai-Link" onClick={() => void downloads.start(channel.name, [file.path])}>
          {trans.__('Copy…')}
        </button>
      )}
      {host.openFile && path !== null && (
        <button type="button" className="jp-pai-Link" onClick={() => host.openFile?.(path)}>
          {trans.__('Open')}
        </button>
      )}
    </>
  );
}
