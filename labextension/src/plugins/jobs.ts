/**
 * The job list in the side panel, job tabs, and their commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import type { Widget } from '@lumino/widgets';

import { jobsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { LazyWidget } from '../ui/lazywidget.js';
import { addCommands } from './commands.js';
import { addPanel, filePage } from './sidepanel.js';
import { JobTabs, URL_PARAMETERS } from './tabs.js';
import { IPage } from './tokens.js';

const PANEL = 'jp-pai-jobs';

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
    const panel = makePanel(page);
    addCommands(app, page, tabs, () => tabs.reveal(panel), palette);
    void addPanel(app, labShell, restorer, panel, 550).then(() => filePage(app, labShell) && openFromUrl(tabs));
    void (labShell && restorer && tabs.restore(restorer));
  }
};

function makePanel(page: IContext): Widget {
  const panel = new LazyWidget(async () => new (await import('../jobs/list.js')).JobsPanel(page), page.trans);
  panel.id = PANEL;
  panel.title.icon = jobsIcon;
  panel.title.caption = page.trans.__('Training jobs');
  panel.node.setAttribute('aria-label', panel.title.caption);
  return panel;
}

/** Open the job or comparison that the URL of the file page of Notebook 7 names. */
function openFromUrl(tabs: JobTabs): void {
  const parameters = new URLSearchParams(location.search);
  const [job, jobs] = [parameters.get(URL_PARAMETERS.job), parameters.get(URL_PARAMETERS.compare)];
  if (job) {
    void tabs.openJob(job);
  } else if (jobs) {
    void tabs.compare(jobs.split(','));
  }
}
