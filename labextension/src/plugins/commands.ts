/**
 * Commands of jobs, for the palette, shortcuts and other extensions.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { parseJob, string, strings } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { jobsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import type { ISubject } from './subject.js';
import { findSubject, idSchema, notifyError, openSchema } from './subject.js';
import type { JobTabs } from './tabs.js';

const DESCRIPTION = 'A job: its id, a prefix of it, its name, or `last`. Default: ask the user.';

const IDS = {
  type: 'object',
  properties: { ids: { type: 'array', items: { type: 'string' }, minItems: 2, description: 'The ids of the jobs.' } },
  required: ['ids']
};

/** Add the commands to the application, and to its palette if there is one. */
export function addCommands(
  app: JupyterFrontEnd,
  context: IContext,
  tabs: JobTabs,
  showJobs: () => void,
  palette: ICommandPalette | null
): void {
  const { trans, host, engine } = context;
  const { commands } = app;
  commands.addCommand(COMMANDS.showJobs, {
    label: trans.__('Show Training Jobs'),
    icon: jobsIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: showJobs
  });
  commands.addCommand(COMMANDS.openJob, {
    label: trans.__('Open Training Job…'),
    describedBy: { args: openSchema(DESCRIPTION) },
    execute: async args => {
      const job = await findJob(context, args);
      if (job) {
        await tabs.openJob(job.id, string(args['back']));
      }
    }
  });
  commands.addCommand(COMMANDS.compareJobs, {
    label: trans.__('Compare Training Jobs'),
    describedBy: { args: IDS },
    execute: args => tabs.compare(strings(args['ids']))
  });
  commands.addCommand(COMMANDS.stopJob, {
    label: trans.__('Stop Training Job…'),
    describedBy: { args: idSchema(DESCRIPTION) },
    execute: async args => {
      const job = await findJob(context, { id: tabs.currentJob ?? '', ...args });
      const yes = trans.__('Stop');
      if (job && (await host.confirm({ title: trans.__('Stop %1?', job.name), text: job.id, yes, warn: true }))) {
        await engine.call('stop', { job: job.id }).catch((error: unknown) => notifyError(error, context));
      }
    }
  });
  const category = trans.__('Training');
  for (const command of [COMMANDS.showJobs, COMMANDS.openJob, COMMANDS.stopJob]) {
    palette?.addItem({ command, category });
  }
}

function findJob(context: IContext, args: ReadonlyPartialJSONObject): Promise<ISubject | null> {
  const { engine, trans } = context;
  return findSubject(context, args, trans.__('Which job?'), async job => parseJob(await engine.call('show', { job })));
}
