/**
 * The job list in the side panel, job tabs, and their commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';

import { jobsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { addCommands } from './commands.js';
import { addWorkflowCommands } from './workflows.js';
import { addPanel, filePage, makePanel } from './sidepanel.js';
import { JobTabs, URL_PARAMETERS } from './tabs.js';
import { IPage } from './tokens.js';

export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:jobs',
  description: 'Lists training jobs and opens them in tabs.',
  autoStart: true,
  requires: [IPage],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    page: IContext,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ) => {
    const tabs = new JobTabs(app, labShell, page);
    const { trans } = page;
    const load = async () => new (await import('../jobs/list.js')).JobsPanel(page);
    const panel = makePanel(load, trans, 'jp-pai-jobs', jobsIcon, trans.__('Training jobs'));
    addCommands(app, page, tabs, () => tabs.reveal(panel), palette);
    addWorkflowCommands(app, page, tabs, palette);
    void addPanel(app, labShell, restorer, panel, 550).then(() => filePage(app, labShell) && openFromUrl(tabs));
    void (labShell && restorer && tabs.restore(restorer));
  }
};

/** Open the job, workflow or comparison that the URL of the file page of Notebook 7 names. */
function openFromUrl(tabs: JobTabs): void {
  const parameters = new URLSearchParams(location.search);
  const { job, workflow, compare } = URL_PARAMETERS;
  const [jobId, runId, jobs] = [job, workflow, compare].map(name => parameters.get(name));
  if (jobId) {
    void tabs.openJob(jobId);
  } else if (runId) {
    void tabs.openWorkflow(runId);
  } else if (jobs) {
    void tabs.compare(jobs.split(','));
  }
}
