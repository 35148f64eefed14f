/**
 * The job, or the run of a workflow, that a command is about.
 */

import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { EngineError, errorText } from '../api/engine.js';
import { string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';

export interface ISubject {
  id: string;
  name: string;
}

/** Return the schema of the argument `id`. */
export function idSchema(description: string) {
  return { type: 'object', properties: { id: { type: 'string', description } } };
}

/** Return the schema of the arguments `id` and `back` of a command that opens a tab. */
export function openSchema(description: string) {
  const back = {
    type: 'string',
    description: 'The path of a document that is activated when the tab is closed, and by Escape.'
  };
  return { type: 'object', properties: { ...idSchema(description).properties, back } };
}

/** Return the subject that the argument `id` refers to, or that the user names; null if there is none, after notifying
 * the user. */
export async function findSubject(
  context: IContext,
  args: ReadonlyPartialJSONObject,
  title: string,
  fetchSubject: (word: string) => Promise<ISubject | null>
): Promise<ISubject | null> {
  const { host, trans } = context;
  const id = string(args['id']);
  const input = id || (await host.askText(title, trans.__('ID, ID prefix, name, or "last"'), 'last'));
  if (!input) {
    return null;
  }
  try {
    return await fetchSubject(input);
  } catch (error) {
    if (id && !(error instanceof EngineError && error.code === 'NotFound')) {
      return { id, name: id }; // The tab reports the error and recovers from it.
    }
    notifyError(error, context);
    return null;
  }
}

/** Show an error to the user. */
export function notifyError(error: unknown, { host }: IContext): void {
  host.notify(errorText(error), 'error');
}
