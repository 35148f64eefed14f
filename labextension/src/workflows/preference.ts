/**
 * The choice between graph and table, stored in the browser.
 */

export type Form = 'graph' | 'table';

const KEY = 'jupyter-pai:workflow-form';

/** Load the choice of this browser. Default: the graph. */
export function loadForm(): Form {
  try {
    return localStorage.getItem(KEY) === 'table' ? 'table' : 'graph';
  } catch {
    return 'graph'; // Storage may be disabled.
  }
}

export function saveForm(form: Form): void {
  try {
    localStorage.setItem(KEY, form);
  } catch {
    // The choice is lost when the view is closed.
  }
}
