/**
 * The header of the form: the document, and the job whose settings it uses.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { moment } from '../ui/format.js';
import type { TrainModel } from './panelmodel.js';

export function TrainHead({ model, host, trans }: IContext & { model: TrainModel }): React.JSX.Element {
  const { desk } = model;
  const path = desk?.path ?? '';
  const cut = path.lastIndexOf('/');
  const folder = host.folder?.();
  const last = desk?.form?.last;
  const notebook = host.notebook?.() ?? '';
  return (
    <header className="jp-pai-Train-head">
      <h2 title={path}>{path.slice(cut + 1) || trans.__('Root folder')}</h2>
      {cut > 0 && <p className="jp-pai-Train-hint">{path.slice(0, cut)}</p>}
      <div className="jp-pai-Train-places">
        {notebook && notebook !== path && (
          <button type="button" className="jp-pai-Link" onClick={() => model.turn(notebook)}>
            {trans.__('Notebook: %1', notebook.slice(notebook.lastIndexOf('/') + 1))}
          </button>
        )}
        {folder !== undefined && folder !== path && (
          <button type="button" className="jp-pai-Link" onClick={() => model.turn(folder)}>
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
      {desk?.form && (desk.isChanged || last) && (
        <div className="jp-pai-Train-places">
          {desk.isChanged && (
            <button type="button" className="jp-pai-Link" onClick={() => desk.reset()}>
              {trans.__('Undo all changes')}
            </button>
          )}
          {last && (
            <button type="button" className="jp-pai-Link" onClick={() => desk.clear()}>
              {trans.__('Reset to defaults')}
            </button>
          )}
        </div>
      )}
    </header>
  );
}
