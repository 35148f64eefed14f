/**
 * Actions on a run of a workflow. Each asks the user first; it returns false if the user declines.
 */

import { withConfirmation } from '../api/confirm.js';
import type { IRun } from '../api/workflowrun.js';
import type { IContext } from '../ui/context.js';

type Run = Pick<IRun, 'id' | 'name'>;

/** Stop the active jobs of a run, and start no further step. */
export function stopRun(context: IContext, run: Run): Promise<boolean> {
  const { trans } = context;
  return callIfConfirmed(context, 'stop_workflow', run, {
    title: trans.__('Stop workflow %1?', run.name),
    text: trans.__('Its active jobs stop immediately, and no further step starts. It can be resumed later.'),
    yes: trans.__('Stop')
  });
}

/** Continue a run at the steps that did not succeed. The user is asked only if that costs money. */
export async function resumeRun({ engine, host, trans }: IContext, run: Run): Promise<boolean> {
  const question = { title: trans.__('Resume workflow %1?', run.name), yes: trans.__('Resume'), warn: true };
  const call = (confirmed: boolean) => engine.call('resume_workflow', { run: run.id }, { confirmed });
  return (await withConfirmation(call, text => host.confirm({ ...question, text }))) !== null;
}

/** Delete a run that has ended. */
export function deleteRun(context: IContext, run: Run): Promise<boolean> {
  const { trans } = context;
  return callIfConfirmed(context, 'delete_workflow', run, {
    title: trans.__('Delete workflow %1?', run.name),
    text: trans.__('The states of its steps are permanently deleted. Its jobs remain.'),
    yes: trans.__('Delete')
  });
}

async function callIfConfirmed(
  { engine, host }: IContext,
  verb: 'stop_workflow' | 'delete_workflow',
  run: Run,
  question: { title: string; text: string; yes: string }
): Promise<boolean> {
  const isConfirmed = await host.confirm({ ...question, warn: true });
  if (isConfirmed) {
    await engine.call(verb, { run: run.id });
  }
  return isConfirmed;
}
