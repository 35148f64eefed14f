/**
 * Commands of jobs, for the palette, shortcuts and other extensions.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { EngineError, errorText } from '../api/engine.js';
import type { IJob } from '../api/wire.js';
import { parseJob, string, strings } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { jobsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import type { JobTabs } from './tabs.js';

const ID = {
  type: 'object',
  properties: {
    id: {
      type: 'string',
      description: 'A job: its id, a prefix of it, its name, or `last`. Default: ask the user.'
    }
  }
};

const OPEN = {
  type: 'object',
  properties: {
    ...ID.properties,
    back: {
      type: 'string',
      description: 'The path of a document that is activated when the tab is closed, and by Escape.'
    }
  }
};

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
    describedBy: { args: OPEN },
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
    describedBy: { args: ID },
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

/** Return the job that the arguments refer to; null if there is none, after notifying the user. */
async function findJob(context: IContext, args: ReadonlyPartialJSONObject): Promise<Pick<IJob, 'id' | 'name'> | null> {
  const { engine, host, trans } = context;
  const title = trans.__('Which job?');
  const id = string(args['id']);
  const input = id || (await host.askText(title, trans.__('ID, ID prefix, name, or "last"'), 'last'));
  if (!input) {
    return null;
  }
  try {
    return parseJob(await engine.call('show', { job: input }));
  } catch (error) {
    if (id && !(error instanceof EngineError && error.code === 'NotFound')) {
      return { id, name: id }; // The tab reports the error and recovers from it.
    }
    notifyError(error, context);
    return null;
  }
}

function notifyError(error: unknown, { host }: IContext): void {
  host.notify(errorText(error), 'error');
}
