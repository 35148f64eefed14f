/**
 * The header of the form: the document, and the job whose settings it uses.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { moment } from '../ui/format.js';
import type { TrainPanelModel } from './panelmodel.js';

export function TrainHeader({ model, host, trans }: IContext & { model: TrainPanelModel }): React.JSX.Element {
  const { form } = model;
  const path = form?.path ?? '';
  const slash = path.lastIndexOf('/');
  const folder = host.folder?.();
  const last = form?.initial?.last;
  const current = host.document?.() ?? '';
  return (
    <header className="jp-pai-Train-head">
      <h2 title={path}>{path.slice(slash + 1) || trans.__('Root folder')}</h2>
      {slash > 0 && <p className="jp-pai-Train-hint">{path.slice(0, slash)}</p>}
      <div className="jp-pai-Train-places">
        {current && current !== path && (
          <button type="button" className="jp-pai-Link" onClick={() => model.activate(current)}>
            {trans.__('File: %1', current.slice(current.lastIndexOf('/') + 1))}
          </button>
        )}
        {folder !== undefined && folder !== path && (
          <button type="button" className="jp-pai-Link" onClick={() => model.activate(folder)}>
            {trans.__('Folder: %1', folder.slice(folder.lastIndexOf('/') + 1) || '/')}
          </button>
        )}
      </div>
      {last && (
        <p className="jp-pai-Train-hint">
          {trans.__('Using settings from %1 (%2)', last.name, moment(last.submittedAt))}{' '}
          {host.openJob && (
            <button type="button" className="jp-pai-Link" onClick={() => host.openJob?.(last.id, path)}>
              {trans.__('View')}
            </button>
          )}
        </p>
      )}
      {form?.initial && (form.isChanged || last) && (
        <div className="jp-pai-Train-places">
          {form.isChanged && (
            <button type="button" className="jp-pai-Link" onClick={() => form.reset()}>
              {trans.__('Undo all changes')}
            </button>
          )}
          {last && (
            <button type="button" className="jp-pai-Link" onClick={() => void form.clear()}>
              {trans.__('Reset to defaults')}
            </button>
          )}
        </div>
      )}
    </header>
  );
}
