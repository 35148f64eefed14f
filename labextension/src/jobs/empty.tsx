/**
 * The empty list: how to submit a first job, or that no job matches the filters.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import type { JobsModel } from './model.js';
import { NO_FILTERS } from './model.js';

export function NoJobs({ model, trans }: IContext & { readonly model: JobsModel }): React.JSX.Element {
  if (model.isFiltered) {
    return (
      <div className="jp-pai-Jobs-none">
        <p>{trans.__('No matching jobs.')}</p>
        <button type="button" onClick={() => model.search(NO_FILTERS)}>
          {trans.__('Show all jobs')}
        </button>
      </div>
    );
  }
  return (
    <div className="jp-pai-Jobs-none">
      <p>{trans.__('No jobs yet. To submit one, run these two cells in a notebook:')}</p>
      <pre>%load_ext jupyter_pai</pre>
      <pre>{'%%pai_train\nprint("trained")'}</pre>
      <p>{trans.__('To copy a tutorial notebook, run %1.', '%pai tutorial')}</p>
    </div>
  );
}
