/**
 * Commands of workflows, for the palette, shortcuts and other extensions.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { string } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import type { IContext } from '../ui/context.js';
import type { ISubject } from './subject.js';
import { findSubject, idSchema, notifyError, openSchema } from './subject.js';
import type { JobTabs } from './tabs.js';

const DESCRIPTION = 'A run of a workflow: its id, a prefix of it, its name, or `last`. Default: ask the user.';

/** Add the commands to the application, and to its palette if there is one. */
export function addWorkflowCommands(
  { commands }: JupyterFrontEnd,
  context: IContext,
  tabs: JobTabs,
  palette: ICommandPalette | null
): void {
  const { trans } = context;
  commands.addCommand(COMMANDS.openWorkflow, {
    label: trans.__('Open Workflow…'),
    describedBy: { args: openSchema(DESCRIPTION) },
    execute: async args => {
      const run = await findRun(context, args);
      if (run) {
        await tabs.openWorkflow(run.id, string(args['back']));
      }
    }
  });
  const options = (act: (run: ISubject) => Promise<boolean>) => ({
    describedBy: { args: idSchema(DESCRIPTION) },
    execute: async (args: ReadonlyPartialJSONObject) => {
      const run = await findRun(context, { id: tabs.currentWorkflow ?? '', ...args });
      if (run) {
        await act(run).catch((error: unknown) => notifyError(error, context));
      }
    }
  });
  const actions = () => import('../workflows/actions.js');
  commands.addCommand(COMMANDS.stopWorkflow, {
    label: trans.__('Stop Workflow…'),
    ...options(async run => (await actions()).stopRun(context, run))
  });
  commands.addCommand(COMMANDS.resumeWorkflow, {
    label: trans.__('Resume Workflow…'),
    ...options(async run => (await actions()).resumeRun(context, run))
  });
  commands.addCommand(COMMANDS.deleteWorkflow, {
    label: trans.__('Delete Workflow…'),
    ...options(async run => (await actions()).deleteRun(context, run))
  });
  const category = trans.__('Training');
  for (const command of [COMMANDS.openWorkflow, COMMANDS.stopWorkflow, COMMANDS.resumeWorkflow]) {
    palette?.addItem({ command, category });
  }
}

function findRun(context: IContext, args: ReadonlyPartialJSONObject): Promise<ISubject | null> {
  const { engine, trans } = context;
  return findSubject(context, args, trans.__('Which workflow?'), async run => {
    const { parseRun } = await import('../api/workflowrun.js');
    return parseRun(await engine.call('show_workflow', { run }));
  });
}
