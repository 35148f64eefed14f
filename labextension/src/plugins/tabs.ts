/**
 * Job tabs: in JupyterLab's main area, restored with the workspace, or on the file page of Notebook 7. Other pages of
 * Notebook 7 have no tabs, so they open the file page.
 */

import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, Notification, WidgetTracker } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { TabPanel, Widget } from '@lumino/widgets';

import { string } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { jobsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { filePage, reveal } from './sidepanel.js';

/** Query parameters of the file page that open a tab. */
export const URL_PARAMETERS = {
  job: 'pai-job',
  compare: 'pai-compare',
  workflow: 'pai-workflow',
  train: 'pai-train'
} as const;

type Tab = MainAreaWidget;
/** The arguments of the command that restores a tab. */
type CommandArgs = ReadonlyPartialJSONObject;

export class JobTabs {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly labShell: ILabShell | null,
    private readonly context: IContext
  ) {}

  /** Restore the tabs with the workspace. */
  async restore(restorer: ILayoutRestorer): Promise<void> {
    const args = (tab: Tab) => this.arguments.get(tab) ?? {};
    const name = (tab: Tab) => tab.id;
    await Promise.all([
      restorer.restore(this.jobs, { command: COMMANDS.openJob, args, name }),
      restorer.restore(this.workflows, { command: COMMANDS.openWorkflow, args, name }),
      restorer.restore(this.comparisons, { command: COMMANDS.compareJobs, args, name })
    ]);
  }

  /** The job of the active tab. */
  get currentJob(): string | null {
    return this.idOf(this.jobs.currentWidget);
  }

  /** The run of a workflow in the active tab. */
  get currentWorkflow(): string | null {
    return this.idOf(this.workflows.currentWidget);
  }

  /** Open the tab of a job, by its full id. Closing it, or Escape, activates the document with the path `back`. */
  async openJob(jobId: string, back = ''): Promise<void> {
    if (this.needsFilePage) {
      this.openFilePage(URL_PARAMETERS.job, jobId);
      return;
    }
    const tab = await this.show(`jp-pai-job-${jobId}`, this.jobs, { id: jobId }, async () => {
      const { JobWidget } = await import('../job/widget.js');
      const content = new JobWidget(this.context, jobId);
      content.title.label = jobId;
      content.model.changed.connect(({ job }) => {
        content.title.label = job?.name ?? jobId;
        content.title.caption = job ? `${job.name} (${jobId})` : jobId;
      });
      return content;
    });
    if (back) {
      this.returnOnClose(tab, back);
    }
  }

  /** Open the tab of a run of a workflow, by its full id; `back` as for a job. */
  async openWorkflow(runId: string, back = ''): Promise<void> {
    if (this.needsFilePage) {
      this.openFilePage(URL_PARAMETERS.workflow, runId);
      return;
    }
    const tab = await this.show(`jp-pai-workflow-${runId}`, this.workflows, { id: runId }, async () => {
      const { WorkflowWidget } = await import('../workflows/widget.js');
      return new WorkflowWidget(this.context, runId);
    });
    if (back) {
      this.returnOnClose(tab, back);
    }
  }

  /** Open a comparison of jobs. */
  async compare(jobIds: readonly string[]): Promise<void> {
    if (this.needsFilePage) {
      this.openFilePage(URL_PARAMETERS.compare, jobIds.join(','));
      return;
    }
    await this.show(`jp-pai-compare-${jobIds.join('-')}`, this.comparisons, { ids: [...jobIds] }, async () => {
      const { CompareWidget } = await import('../compare/view.js');
      const content = new CompareWidget(this.context, jobIds);
      content.title.label = this.context.trans.__('Compare %1 jobs', jobIds.length);
      return content;
    });
  }

  /** Activate a widget. */
  reveal(widget: Widget): void {
    reveal(this.app, this.labShell, widget);
  }

  private idOf(tab: Tab | null): string | null {
    return tab?.isVisible ? string(this.arguments.get(tab)?.['id']) || null : null;
  }

  private get filePage(): TabPanel | null {
    return filePage(this.app, this.labShell);
  }

  private get needsFilePage(): boolean {
    return !this.labShell && !this.filePage;
  }

  private openFilePage(name: string, value: string): void {
    const url = new URL(URLExt.join(PageConfig.getBaseUrl(), 'tree'), location.href);
    url.searchParams.set(name, value);
    if (!openWindow(url)) {
      // Popup blockers reject windows that do not open directly after a user action.
      const { trans } = this.context;
      const actions = [{ label: trans.__('Open'), callback: () => void openWindow(url) }];
      Notification.warning(trans.__('The browser blocked the new page.'), { autoClose: false, actions });
    }
  }

  /** Show the tab with an id; create it if there is none. */
  private async show(
    id: string,
    tracker: WidgetTracker<Tab>,
    args: CommandArgs,
    make: () => Promise<Widget>
  ): Promise<Tab> {
    let tab = this.byId.get(id);
    if (!tab) {
      tab = this.createTab(id, args, make());
      this.byId.set(id, tab);
      const forget = () => void this.byId.delete(id);
      tab.then(made => made.disposed.connect(forget), forget);
      const made = await tab;
      await tracker.add(made);
      if (this.filePage) {
        this.filePage.addWidget(made);
      } else {
        this.app.shell.add(made, 'main');
      }
    }
    this.reveal(await tab);
    return tab;
  }

  private returnOnClose(tab: Tab, path: string): void {
    const { host } = this.context;
    // Only from a visible tab: closing a hidden one must not change the active document.
    tab.disposed.connect(() => tab.isVisible && host.show?.(path));
    tab.node.addEventListener('keydown', event => {
      // Escape first closes popups inside of the view, which prevent the default.
      if (event.key === 'Escape' && !event.defaultPrevented) {
        host.show?.(path);
      }
    });
  }

  private async createTab(id: string, args: CommandArgs, loading: Promise<Widget>): Promise<Tab> {
    const content = await loading;
    content.title.icon = jobsIcon;
    content.title.closable = true;
    const tab = new MainAreaWidget({ content });
    tab.id = id;
    tab.toolbar.hide();
    this.arguments.set(tab, args);
    return tab;
  }

  private readonly jobs = new WidgetTracker<Tab>({ namespace: 'jupyter-pai-jobs' });
  private readonly workflows = new WidgetTracker<Tab>({ namespace: 'jupyter-pai-workflows' });
  private readonly comparisons = new WidgetTracker<Tab>({ namespace: 'jupyter-pai-comparisons' });
  private readonly byId = new Map<string, Promise<Tab>>();
  private readonly arguments = new WeakMap<Tab, CommandArgs>();
}

/**
 * Open a page; return whether the browser allowed it. The option `noopener` would hide the result, so the opener is
 * removed afterwards.
 */
function openWindow(url: URL): boolean {
  const page = window.open(url, '_blank');
  if (page) {
    page.opener = null;
  }
  return page !== null;
}
