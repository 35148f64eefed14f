/**
 * The uploaded files: number and size, largest files, excluded files and detected secrets.
 */

import * as React from 'react';

import { record } from '../api/wire.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { fileCount, plural, size } from '../ui/format.js';
import { field, ruleFor, withRule } from './draft.js';
import { CollapsibleSection } from './field.js';
import { MoreRules, RuleList } from './filerules.js';
import type { ISecretMatch } from './preview.js';
import type { ISectionProps } from './section.js';
import { errorAt, setField, textAt } from './section.js';

const EXAMPLE = '*.ckpt, data/';

// Number of files shown at first.
const SHOWN_AT_FIRST = 5;

export function TrainFiles(props: ISectionProps): React.JSX.Element {
  const { form, draft, trans } = props;
  const { preview, errors } = form;
  const exclude = (path: string, isOut = true) => form.change(withRule(draft, ruleFor(path), isOut));
  const secrets = errors.secrets.length ? errors.secrets : (preview?.secrets ?? []);
  const folder = textAt(props, 'source.folder');
  // The folder is shown if it is not the notebook's.
  const own = form.initial?.kind === 'folder' ? form.path : form.path.slice(0, Math.max(form.path.lastIndexOf('/'), 0));
  const error = [errorAt(props, 'source'), errorAt(props, 'source.folder')].filter(Boolean).join(' ');
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Files to upload')} aria-busy={form.isPreviewing}>
      <div className="jp-pai-Train-line">
        <h3>{trans.__('Files to upload')}</h3>
        <button
          type="button"
          className="jp-pai-Button jp-pai-Train-remove"
          title={trans.__('Refresh')}
          aria-label={trans.__('Refresh')}
          onClick={() => void form.refresh()}
        >
          ⟳
        </button>
      </div>
      <p className="jp-pai-Train-count" role="status">
        {preview && !error ? fileCount(preview.files, preview.bytes, trans) : ''}
        {form.isPreviewing && <span className="jp-pai-Train-hint"> {trans.__('Scanning the folder…')}</span>}
      </p>
      {folder && !`/${folder}`.endsWith(`/${own}`) && <p className="jp-pai-Train-hint">{folder}</p>}
      {errors.secrets.length === 0 && <FieldError text={error} role="alert" />}
      <DetectedSecrets {...props} secrets={secrets} isCertain={errors.secrets.length > 0} exclude={exclude} />
      <RuleList
        {...props}
        path="source.exclude"
        title={trans.__('Exclude patterns')}
        inputLabel={trans.__('Exclude pattern')}
        addLabel={trans.__('Exclude')}
        removeTitle={trans.__('Include again')}
        removeLabel={rule => trans.__('Include %1 again', rule)}
        example={EXAMPLE}
      />
      <MoreRules {...props} />
      <StoredFiles {...props} />
      {preview && preview.largest.length > 0 && <LargestFiles {...props} exclude={exclude} />}
      {preview && preview.excluded.length > 0 && (
        <CollapsibleSection
          title={trans.__('Excluded')}
          summary={plural(
            preview.excludedCount,
            trans.__('%1 path', preview.excludedCount),
            trans.__('%1 paths', preview.excludedCount)
          )}
        >
          <ul className="jp-pai-Train-files">
            {preview.excluded.map(({ path, why }) => (
              <li key={path}>
                <span className="jp-pai-Train-path">{path}</span>
                <span className="jp-pai-Train-hint">{why}</span>
              </li>
            ))}
          </ul>
          {preview.excludedCount > preview.excluded.length && (
            <p className="jp-pai-Train-hint">
              {trans.__('and %1 more', preview.excludedCount - preview.excluded.length)}
            </p>
          )}
        </CollapsibleSection>
      )}
      <label className="jp-pai-Check">
        <input
          type="checkbox"
          checked={field(draft, 'source.gitignore') !== false}
          onChange={event => setField(props, 'source.gitignore', event.target.checked ? undefined : false)}
        />
        {trans.__('Respect .gitignore')}
      </label>
    </section>
  );
}

interface IExcludeProps extends ISectionProps {
  readonly exclude: (path: string) => void;
}

function DetectedSecrets(
  props: IExcludeProps & { secrets: readonly ISecretMatch[]; isCertain: boolean }
): React.JSX.Element | null {
  const { form, draft, trans, secrets, isCertain, exclude } = props;
  if (!secrets.length) {
    return null;
  }
  const allow = (path: string) => form.change(withRule(draft, path, true, 'source.allow_secret'));
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
        {secrets.map(({ path, line, cell, description }) => (
          <li key={`${path}:${cell}:${line}:${description}`}>
            <span className="jp-pai-Train-path">
              {cell ? trans.__('%1, cell %2, line %3', path, cell, line) : line ? `${path}:${line}` : path}
            </span>
            <span className="jp-pai-Train-hint">{description}</span>
            <button
              type="button"
              className="jp-pai-Button"
              aria-label={trans.__('Exclude %1', path)}
              onClick={() => exclude(path)}
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
function StoredFiles({ form, draft, trans }: ISectionProps): React.JSX.Element | null {
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
              onClick={() => form.removeFile(path)}
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
function LargestFiles({ form, trans, exclude }: IExcludeProps): React.JSX.Element {
  const [isAll, setAll] = React.useState(false);
  const files = form.preview?.largest ?? [];
  const shown = isAll ? files : files.slice(0, SHOWN_AT_FIRST);
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
      onClick={() => exclude(path)}
    >
      ×
    </button>
  );
  return (
    <CollapsibleSection
      title={trans.__('Largest files')}
      summary={shown[0] ? `${shown[0].path} ${size(shown[0].bytes)}` : ''}
    >
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
      {files.length > SHOWN_AT_FIRST && (
        <button type="button" className="jp-pai-Link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? trans.__('Show fewer') : trans.__('Show more')}
        </button>
      )}
    </CollapsibleSection>
  );
}
