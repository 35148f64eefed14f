/**
 * The uploaded files: number and size, largest files, excluded files and detected secrets.
 */

import * as React from 'react';

import { record } from '../api/wire.js';
import { FaultText } from '../ui/fields/fielderror.js';
import { fileCount, plural, size } from '../ui/format.js';
import { field, ruleFor, withRule } from './draft.js';
import { Fold } from './field.js';
import { Chips, MoreRules } from './filerules.js';
import type { IPart } from './part.js';
import { faultAt, set, textAt } from './part.js';
import type { ILeak } from './preview.js';

const EXAMPLE = '*.ckpt, data/';

// Number of files shown at first.
const FIRST = 5;

export function TrainFiles(props: IPart): React.JSX.Element {
  const { desk, draft, trans } = props;
  const { preview, wrong } = desk;
  const leave = (path: string, isOut = true) => desk.change(withRule(draft, ruleFor(path), isOut));
  const leaks = wrong.leaks.length ? wrong.leaks : (preview?.leaks ?? []);
  const folder = textAt(props, 'source.folder');
  // The folder is shown if it is not the notebook's.
  const own = desk.form?.kind === 'folder' ? desk.path : desk.path.slice(0, Math.max(desk.path.lastIndexOf('/'), 0));
  const fault = [faultAt(props, 'source'), faultAt(props, 'source.folder')].filter(Boolean).join(' ');
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Files to upload')} aria-busy={desk.isLooking}>
      <div className="jp-pai-Train-line">
        <h3>{trans.__('Files to upload')}</h3>
        <button
          type="button"
          className="jp-pai-Button jp-pai-Train-remove"
          title={trans.__('Refresh')}
          aria-label={trans.__('Refresh')}
          onClick={() => void desk.refresh()}
        >
          ⟳
        </button>
      </div>
      <p className="jp-pai-Train-count" role="status">
        {preview && !fault ? fileCount(preview.files, preview.bytes, trans) : ''}
        {desk.isLooking && <span className="jp-pai-Train-hint"> {trans.__('Scanning the folder…')}</span>}
      </p>
      {folder && !`/${folder}`.endsWith(`/${own}`) && <p className="jp-pai-Train-hint">{folder}</p>}
      {wrong.leaks.length === 0 && <FaultText text={fault} role="alert" />}
      <Leaks {...props} leaks={leaks} isCertain={wrong.leaks.length > 0} leave={leave} />
      <Chips
        {...props}
        path="source.exclude"
        title={trans.__('Exclude patterns')}
        about={trans.__('Exclude pattern')}
        give={trans.__('Exclude')}
        back={trans.__('Include again')}
        backOf={rule => trans.__('Include %1 again', rule)}
        example={EXAMPLE}
      />
      <MoreRules {...props} />
      <Laid {...props} />
      {preview && preview.biggest.length > 0 && <Biggest {...props} leave={leave} />}
      {preview && preview.leftOut.length > 0 && (
        <Fold
          title={trans.__('Excluded')}
          said={plural(
            preview.leftOut.length,
            trans.__('%1 path', preview.leftOut.length),
            trans.__('%1 paths', preview.leftOut.length)
          )}
        >
          <ul className="jp-pai-Train-files">
            {preview.leftOut.map(({ path, why }) => (
              <li key={path}>
                <span className="jp-pai-Train-path">{path}</span>
                <span className="jp-pai-Train-hint">{why}</span>
              </li>
            ))}
          </ul>
        </Fold>
      )}
      <label className="jp-pai-Check">
        <input
          type="checkbox"
          checked={field(draft, 'source.gitignore') !== false}
          onChange={event => set(props, 'source.gitignore', event.target.checked ? undefined : false)}
        />
        {trans.__('Respect .gitignore')}
      </label>
    </section>
  );
}

interface ILeaving extends IPart {
  readonly leave: (path: string) => void;
}

function Leaks(props: ILeaving & { leaks: readonly ILeak[]; isCertain: boolean }): React.JSX.Element | null {
  const { desk, draft, trans, leaks, isCertain, leave } = props;
  if (!leaks.length) {
    return null;
  }
  const allow = (path: string) => desk.change(withRule(draft, path, true, 'source.allow_secret'));
  return (
    <div
      className="jp-pai-Train-leaks"
      tabIndex={-1}
      data-invalid={isCertain}
      role={isCertain ? 'alert' : 'group'}
      aria-label={trans.__('Secrets found')}
    >
      <strong>{isCertain ? trans.__('Secrets found. Remove them to continue') : trans.__('Possible secrets')}</strong>
      <ul className="jp-pai-Train-files">
        {leaks.map(({ path, line, cell, what }) => (
          <li key={`${path}:${cell}:${line}:${what}`}>
            <span className="jp-pai-Train-path">
              {cell ? trans.__('%1, cell %2, line %3', path, cell, line) : line ? `${path}:${line}` : path}
            </span>
            <span className="jp-pai-Train-hint">{what}</span>
            <button
              type="button"
              className="jp-pai-Button"
              aria-label={trans.__('Exclude %1', path)}
              onClick={() => leave(path)}
            >
              {trans.__('Exclude')}
            </button>
            {isCertain && (
              <button
                type="button"
                className="jp-pai-Button"
                aria-label={trans.__('Send anyway: %1', path)}
                onClick={() => allow(path)}
              >
                {trans.__('Send anyway')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Files stored in the request, such as the code of a cell, which keep the content they had when it was created. */
function Laid({ desk, draft, trans }: IPart): React.JSX.Element | null {
  const paths = Object.keys(record(field(draft, 'source.files')));
  const id = React.useId();
  if (!paths.length) {
    return null;
  }
  return (
    <div className="jp-pai-Train-exclude">
      <span className="jp-pai-Train-hint" id={id}>
        {trans.__('Files stored in this request, replacing those in the folder: %1', paths.length)}
      </span>
      <ul className="jp-pai-Chips" aria-labelledby={id}>
        {paths.map(path => (
          <li key={path}>
            {path}
            <button
              type="button"
              title={trans.__('Use the file in the folder instead')}
              aria-label={trans.__('Use the file in the folder instead of %1', path)}
              onClick={() => desk.uncover(path)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The largest files, grouped by folder. */
function Biggest({ desk, trans, leave }: ILeaving): React.JSX.Element {
  const [isAll, setAll] = React.useState(false);
  const files = desk.preview?.biggest ?? [];
  const shown = isAll ? files : files.slice(0, FIRST);
  const folders = new Map<string, typeof shown>();
  for (const file of shown) {
    const folder = file.path.slice(0, file.path.indexOf('/') + 1);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  const remove = (path: string) => (
    <button
      type="button"
      className="jp-pai-Button jp-pai-Train-remove"
      title={trans.__('Exclude %1', path)}
      aria-label={trans.__('Exclude %1', path)}
      onClick={() => leave(path)}
    >
      ×
    </button>
  );
  return (
    <Fold title={trans.__('Largest files')} said={shown[0] ? `${shown[0].path} ${size(shown[0].bytes)}` : ''}>
      <ul className="jp-pai-Train-files">
        {[...folders].map(([folder, inside]) => (
          <React.Fragment key={folder}>
            {folder && (
              <li className="jp-pai-Train-inFolder">
                <span className="jp-pai-Train-path">{folder}</span>
                {remove(folder)}
              </li>
            )}
            {inside.map(({ path, bytes }) => (
              <li key={path} data-inside={folder !== ''}>
                <span className="jp-pai-Train-path" title={path}>
                  {path.slice(folder.length)}
                </span>
                <span className="jp-pai-Train-size">{size(bytes)}</span>
                {remove(path)}
              </li>
            ))}
          </React.Fragment>
        ))}
      </ul>
      {files.length > FIRST && (
        <button type="button" className="jp-pai-Link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? trans.__('Show fewer') : trans.__('Show more')}
        </button>
      )}
    </Fold>
  );
}
