/**
 * An empty list: how to submit a first job, or that none fits.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import type { JobsModel } from './model.js';
import { EVERYTHING } from './model.js';

export function NoJobs({ model, trans }: IContext & { readonly model: JobsModel }): React.JSX.Element {
  if (model.isFiltered) {
    return (
      <div className="jp-pai-Jobs-none">
        <p>{trans.__('No job fits.')}</p>
        <button type="button" onClick={() => model.search(EVERYTHING)}>
          {trans.__('Show all jobs')}
        </button>
      </div>
    );
  }
  return (
    <div className="jp-pai-Jobs-none">
      <p>{trans.__('There are no jobs yet. In a notebook, run these two cells:')}</p>
      <pre>%load_ext jupyter_pai</pre>
      <pre>{'%%pai_train\nprint("trained")'}</pre>
      <p>{trans.__('A longer tour: %1 copies a tutorial notebook.', '%pai tutorial')}</p>
    </div>
  );
}
